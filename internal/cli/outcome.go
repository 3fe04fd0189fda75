package cli

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"flowgraph/flows"
)

// errNotAll: the worker has not done all that it was asked for.
var errNotAll = errors.New("not all of it was done, see above")

// cutTable prints what came of a flush or seal.
func cutTable(w io.Writer, o flows.Outcome, waited bool) error {
	if len(o.VChannels)+len(o.NotHere) == 0 {
		return nil // there is an error that says why
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "VCHANNEL\tSEGMENTS\tROWS\tMEMORY\tSTATE")
	for i := range o.VChannels {
		v := &o.VChannels[i]
		fmt.Fprintf(out, "%s\t%d\t%d\t%s\t%s\n", v.VChannel, v.Segments, v.Rows, approximate(v.Bytes), cutState(v))
	}
	for _, name := range o.NotHere {
		fmt.Fprintf(out, "%s\t-\t-\t-\tnot this worker's\n", name)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if !o.Whole(waited) {
		return errNotAll
	}
	return nil
}

func cutState(v *flows.Asked) string {
	state := "on its way to the store"
	switch {
	case v.Error != "":
		return v.Error
	case !v.Done:
		return "the flow has not got to it, and will"
	case v.Committed:
		state = "committed"
	}
	if v.Unsealed > 0 {
		state += fmt.Sprintf("; %d are sealed once reading has passed what is stored", v.Unsealed)
	}
	return state
}

// heldList prints what came of a pause or its end.
func heldList(w io.Writer, o flows.Outcome, done string) error {
	for i := range o.VChannels {
		state := done
		if !o.VChannels[i].Done {
			state = done + " as soon as the worker looks"
		}
		fmt.Fprintf(w, "%s %s\n", o.VChannels[i].VChannel, state)
	}
	for _, name := range o.NotHere {
		fmt.Fprintf(w, "%s is not this worker's\n", name)
	}
	if len(o.VChannels)+len(o.NotHere) > 0 && !o.Whole(false) {
		return errNotAll
	}
	return nil
}
