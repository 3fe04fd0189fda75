package cli

import "errors"

// rule is what settings must keep to, and the sentence for those that do not.
type rule struct {
	broken   bool
	sentence string
}

// broken joins the sentences of all rules that are broken: whoever corrects a
// configuration wants to know all that is wrong, not one fault a try.
func broken(rules ...rule) error {
	var errs []error
	for _, r := range rules {
		if r.broken {
			errs = append(errs, errors.New(r.sentence))
		}
	}
	return errors.Join(errs...)
}
