package cli

import (
	"reflect"
	"testing"
)

// The fall-back to a free port is for the default address alone: an address
// that was asked for and is taken ends the worker.
func TestTheDefaultAddressIsTheOneThatMayBeTaken(t *testing.T) {
	field, _ := reflect.TypeFor[RunConfig]().FieldByName("Listen")
	if got := field.Tag.Get("default"); got != defaultListen {
		t.Errorf("--listen is %s by default, the fall-back is for %s", got, defaultListen)
	}
}
