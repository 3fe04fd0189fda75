package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"flowgraph/sinks/binlog"
)

// areKeyStatistics tells key statistics, of one flush or a list of them, from
// other JSON.
func areKeyStatistics(data []byte) bool {
	type members struct {
		Field *int64          `json:"fieldID"`
		Bloom json.RawMessage `json:"bf"`
	}
	list := []members{{}}
	if json.Unmarshal(data, &list) != nil && json.Unmarshal(data, &list[0]) != nil {
		return false
	}
	for _, s := range list {
		if s.Field == nil || s.Bloom == nil {
			return false
		}
	}
	return true
}

// statistics prints key statistics; done is false if the object is other JSON,
// or cannot be read as what it looks like: then it is shown as it is.
func (d *dump) statistics(data []byte) (done bool, err error) {
	if !areKeyStatistics(data) {
		return false, nil
	}
	list, err := binlog.ReadKeyStats(data)
	if err != nil {
		return false, nil // its text tells more
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIELD\tSMALLEST KEY\tLARGEST KEY\tBLOOM FILTER")
	for i := range list {
		s := &list[i]
		smallest, err := s.AppendKey(nil, s.Min)
		if err != nil {
			return false, err
		}
		largest, err := s.AppendKey(nil, s.Max)
		if err != nil {
			return false, err
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", s.Field, shortened(string(smallest)), shortened(string(largest)), filterText(s))
	}
	return true, w.Flush()
}

func filterText(s *binlog.KeyStats) string {
	if s.Kind == binlog.AlwaysTrue {
		return "none"
	}
	kind := "basic"
	if s.Kind == binlog.BlockedFilter {
		kind = "blocked"
	}
	return fmt.Sprintf("%s, %d bits, %d hashes", kind, s.Bits, s.Hashes)
}

// tokens prints the statistics of a BM25 function.
func (d *dump) tokens(data []byte) error {
	s, err := binlog.ReadTokenStats(data)
	if err != nil {
		return err
	}
	shown := s.Counts
	if d.limit > 0 && len(shown) > d.limit {
		shown = shown[:d.limit]
	}
	if d.json {
		return d.tokenLines(s, shown)
	}
	fmt.Fprintf(d.out, "kind    BM25 statistics\nrows    %d\ntokens  %d, of %d kinds\n\n", s.Rows, s.Tokens, len(s.Counts))
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOKEN\tROWS")
	for _, c := range shown {
		fmt.Fprintf(w, "%d\t%d\n", c.Token, c.Rows)
	}
	if left := len(s.Counts) - len(shown); left > 0 {
		fmt.Fprintf(w, "and %d more tokens (--limit 0 prints all)\n", left)
	}
	return w.Flush()
}

// tokenLines prints {"header": {...}}, then a token a line.
func (d *dump) tokenLines(s *binlog.TokenStats, shown []binlog.TokenCount) error {
	if _, err := fmt.Fprintf(d.out, "{\"header\":{\"kind\":\"bm25\",\"rows\":%d,\"tokens\":%d,\"bytes\":%d}}\n", s.Rows, s.Tokens, d.size); err != nil {
		return err
	}
	for _, c := range shown {
		if _, err := fmt.Fprintf(d.out, "{\"token\":%d,\"rows\":%d}\n", c.Token, c.Rows); err != nil {
			return err
		}
	}
	return nil
}
