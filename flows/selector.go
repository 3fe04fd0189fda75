package flows

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Selector names what a request is for: vchannels, a collection, a collection
// in some vchannels, or all.
type Selector struct {
	VChannels  []string `json:"vchannels,omitempty"`
	Collection string   `json:"collection,omitempty"` // ID or name
	All        bool     `json:"all,omitempty"`
}

// Errors of requests, to be tested with errors.Is.
var (
	// ErrSelector: the request does not say what it is for.
	ErrSelector = errors.New("name vchannels or a collection, or say all")
	// ErrNotHere: this worker has none of the vchannels.
	ErrNotHere = errors.New("this worker does not have")
	// ErrNoCollection: no vchannel of this worker knows the collection.
	ErrNoCollection = errors.New("no vchannel of this worker knows the collection")
	// ErrAmbiguous: several live collections have this name.
	ErrAmbiguous = errors.New("several collections have this name, give an ID")
)

// validate says what a selector lacks.
func (s Selector) validate() error {
	named := len(s.VChannels) > 0 || s.Collection != ""
	if named == s.All || slices.Contains(s.VChannels, "") {
		return ErrSelector
	}
	return nil
}

// target is one vchannel that a request is for.
type target struct {
	a          *assignment
	collection int64 // 0: all
}

// choose finds what a selector is for, by name, and which of the vchannels
// that it names are not this worker's.
func (w *Worker) choose(s Selector) (targets []target, notHere []string, err error) {
	if err := s.validate(); err != nil {
		return nil, nil, err
	}
	here := w.assignments()
	if len(s.VChannels) > 0 {
		for _, name := range s.VChannels {
			if here[name] == nil && !slices.Contains(notHere, name) {
				notHere = append(notHere, name)
			}
		}
		maps.DeleteFunc(here, func(name string, _ *assignment) bool { return !slices.Contains(s.VChannels, name) })
		if len(here) == 0 {
			return nil, notHere, fmt.Errorf("%w %s", ErrNotHere, strings.Join(notHere, ", "))
		}
	}
	var id int64
	if s.Collection != "" {
		if id, here, err = collectionIn(here, s.Collection); err != nil {
			return nil, notHere, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(here)) {
		targets = append(targets, target{here[name], id})
	}
	return targets, notHere, nil
}

// assignments are those of this worker, by the names of their vchannels.
func (w *Worker) assignments() map[string]*assignment {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[string]*assignment, len(w.parts))
	for _, a := range w.parts {
		out[a.status.vchannel.Name()] = a
	}
	return out
}

// collectionIn finds the one collection that is called so, and the vchannels
// that know it. A dropped one has no name, and nothing to flush.
func collectionIn(all map[string]*assignment, text string) (int64, map[string]*assignment, error) {
	number, _ := strconv.ParseInt(text, 10, 64)
	in := map[int64]map[string]*assignment{}
	for name, a := range all {
		for id, called := range a.status.collections() {
			if id != number && called != text {
				continue
			}
			if in[id] == nil {
				in[id] = map[string]*assignment{}
			}
			in[id][name] = a
		}
	}
	if byID := in[number]; byID != nil { // a name may be a number too; the ID is meant
		return number, byID, nil
	}
	ids := slices.Sorted(maps.Keys(in))
	switch len(ids) {
	case 0:
		return 0, nil, fmt.Errorf("%w %q", ErrNoCollection, text)
	case 1:
		return ids[0], in[ids[0]], nil
	}
	return 0, nil, fmt.Errorf("%w: %q is %s", ErrAmbiguous, text, strings.Trim(fmt.Sprint(ids), "[]"))
}

// collections are the live ones of a claimed vchannel, with their names.
func (f *flowStatus) collections() map[int64]string {
	f.mu.Lock()
	t := f.tracker
	f.mu.Unlock()
	out := map[int64]string{}
	if t == nil {
		return out
	}
	for id, c := range t.View().Collections {
		if c.Dropped == nil {
			out[id] = cmp.Or(c.Name, strconv.FormatInt(id, 10))
		}
	}
	return out
}
