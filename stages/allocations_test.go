package stages

import "testing"

// Memory that a message costs is memory that must be cleared and collected:
// what a batch needs is handed on from one to the next.
func TestAMessageCostsNoAllocation(t *testing.T) {
	for _, rows := range []int{1, 1000} {
		w := newWorkbench(t, rows)
		for range 5 {
			if err := w.whole(); err != nil {
				t.Fatal(err)
			}
		}
		perBatch := testing.AllocsPerRun(20, func() {
			if err := w.whole(); err != nil {
				t.Fatal(err)
			}
		})
		// Of the batch itself: its packs and their lists, and now and then a cut.
		if perBatch > 40 {
			t.Errorf("%d messages of %d rows: %.0f allocations, want none but some of the batch's own", len(w.records), rows, perBatch)
		}
	}
}
