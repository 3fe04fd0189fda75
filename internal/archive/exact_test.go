package archive_test

import (
	"testing"

	"flowgraph/internal/archive"
)

func TestEveryRecordedRowIsThereOnce(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, name)
			want := r.expected(t)
			report := check(t, r.bucket, want, archive.CheckOptions{})
			t.Logf("%s", report)
			if err := report.Err(); err != nil {
				t.Errorf("%s", report)
			}
			if report.Rows != want.Rows || report.Deletes != want.Deletes || want.Rows == 0 {
				t.Errorf("%d rows, %d deletes found, %d and %d produced", report.Rows, report.Deletes, want.Rows, want.Deletes)
			}
		})
	}
}
