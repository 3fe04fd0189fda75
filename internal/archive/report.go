package archive

import (
	"fmt"
	"strings"
)

// Report is what a check found.
type Report struct {
	VChannels   int   `json:"vchannels"`
	Records     int64 `json:"records"` // of the logs, where they were read for the check
	Segments    int   `json:"segments"`
	Dropped     int   `json:"segments_dropped"`
	Rows        int64 `json:"rows"`    // found where they belong
	Deletes     int64 `json:"deletes"` // the same
	Rerouted    int64 `json:"rows_rerouted"`
	Pending     int64 `json:"pending"`    // rows and deletes above the positions, with Partial
	Unread      int64 `json:"beyond_log"` // rows and deletes whose records are gone from the log, or were written since it was read
	CutOff      int64 `json:"cut_off"`    // rows and deletes of records that the log lost when it was cut back
	Repeated    int64 `json:"messages_repeated"`
	Excluded    int64 `json:"after_drop"`
	Quarantined int64 `json:"quarantined"`
	Removed     int64 `json:"rows_expired"` // rows and deletes of the log whose collection has expired

	Objects           int64 `json:"objects"` // data files referred to, all of them read
	Bytes             int64 `json:"bytes"`
	Unreferenced      int64 `json:"objects_unreferenced"` // that no document will ever refer to
	UnreferencedBytes int64 `json:"bytes_unreferenced"`
	UnderWay          int64 `json:"objects_under_way"`      // of a claim that may still refer to them, with Partial
	OtherLogs         int   `json:"segments_of_other_logs"` // earlier ones of the topics: their rows cannot be compared
	Others            int   `json:"segments_not_checked"`   // of vchannels that were not read
	Expired           int   `json:"segments_expired"`       // of dropped collections whose data was removed on purpose

	Lost    int64      `json:"lost"` // rows and deletes
	Doubled int64      `json:"doubled"`
	Altered int64      `json:"altered"`
	Faults  []RowFault `json:"row_faults,omitempty"` // the first ones

	// Wrong counts everything wrong; Problems tells the first ones.
	Wrong    int64    `json:"wrong"`
	Problems []string `json:"problems,omitempty"`
	limit    int
}

// Err is nil if nothing was wrong, else ErrNotExact with the first problem.
func (r *Report) Err() error {
	if r.Wrong == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d problems, the first: %s", ErrNotExact, r.Wrong, r.Problems[0])
}

// String is the report for people, a few lines.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows and %d deletes in %d segments of %d vchannels (%d segments dropped), %d objects of %d bytes\n",
		r.Rows, r.Deletes, r.Segments, r.VChannels, r.Dropped, r.Objects, r.Bytes)
	for _, n := range []struct {
		count int64
		what  string
	}{
		{r.Rerouted, "rows came after their segment was sealed and lie in another"},
		{r.Pending, "rows and deletes are not stored yet and will be read again"},
		{r.Unread, "rows and deletes cannot be compared: their records are gone from the log, or are newer than what was read of it"},
		{r.CutOff, "rows and deletes are of an end that the log lost when it was cut back: they stay beside those that it has instead"},
		{r.Repeated, "messages were sent twice and count once"},
		{r.Excluded, "rows and deletes came after a drop of their place and are left out"},
		{r.Quarantined, "records are in quarantine"},
		{r.Unreferenced, "objects of earlier epochs are referred to by nothing"},
		{r.UnderWay, "objects of the last epochs are referred to by nothing yet"},
		{int64(r.OtherLogs), "segments are of earlier logs of the topics: only their files were checked"},
		{int64(r.Others), "segments are of vchannels that were not read and were not checked"},
		{int64(r.Expired), "segments are of dropped collections that have expired: their data was removed on purpose"},
		{r.Removed, "rows and deletes of the log belong to collections that have expired"},
	} {
		if n.count > 0 {
			fmt.Fprintf(&b, "%d %s\n", n.count, n.what)
		}
	}
	switch {
	case r.Wrong == 0 && r.Pending > 0:
		b.WriteString("Exact: every row and delete that the positions cover is there once.\n")
		return b.String()
	case r.Wrong == 0:
		b.WriteString("Exact: every row and delete is there once.\n")
		return b.String()
	}
	fmt.Fprintf(&b, "NOT EXACT, %d problems:\n", r.Wrong)
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "  %s\n", p)
	}
	if more := r.Wrong - int64(len(r.Problems)); more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}

// problem notes something wrong.
func (r *Report) problem(format string, args ...any) {
	if r.Wrong++; len(r.Problems) < r.limit {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}
