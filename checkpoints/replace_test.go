package checkpoints_test

import (
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

func TestReplaceStoresWhateverWasThere(t *testing.T) {
	b := membucket.New()
	for _, text := range []string{"one", "two", "two"} {
		if _, err := checkpoints.Replace(t.Context(), b, "k", checkpoints.Object{Parts: [][]byte{[]byte(text)}}); err != nil {
			t.Fatal(err)
		}
		if got := string(b.Data("k")); got != text {
			t.Errorf("%q is stored, want %q", got, text)
		}
	}
}
