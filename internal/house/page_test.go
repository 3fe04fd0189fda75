package house_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

// page compares a page of docs/reference with what it is made from, or writes
// it.
func page(t *testing.T, name, want string) {
	t.Helper()
	path := root + "/docs/reference/" + name
	text, err := os.ReadFile(path)
	if err != nil && !(*update && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	if string(text) == want {
		return
	}
	if !*update {
		t.Fatalf("docs/reference/%s is not what the code is: go test ./internal/house -update", name)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
