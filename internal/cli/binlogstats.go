package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
)

// keyStatistics is one flush's or, in a list, a segment's.
type keyStatistics struct {
	Field  *int64          `json:"fieldID"`
	PKType int             `json:"pkType"`
	MinPK  json.RawMessage `json:"minPk"`
	MaxPK  json.RawMessage `json:"maxPk"`
	Bloom  json.RawMessage `json:"bf"`
}

// statistics prints key statistics; done is false if the object is other JSON.
func (d *dump) statistics(data []byte) (done bool, err error) {
	var list []keyStatistics
	if json.Unmarshal(data, &list) != nil {
		var one keyStatistics
		if json.Unmarshal(data, &one) != nil {
			return false, nil
		}
		list = []keyStatistics{one}
	}
	for _, s := range list {
		if s.Field == nil || s.Bloom == nil {
			return false, nil
		}
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIELD\tSMALLEST KEY\tLARGEST KEY\tBLOOM FILTER")
	for _, s := range list {
		var filter struct {
			Bits   int64 `json:"m"`
			Hashes int64 `json:"k"`
		}
		_ = json.Unmarshal(s.Bloom, &filter) // of another kind: only its size is told
		fmt.Fprintf(w, "%d\t%s\t%s\t%d bits, %d hashes, %s as JSON\n", *s.Field, keyText(s.MinPK), keyText(s.MaxPK),
			filter.Bits, filter.Hashes, approximate(int64(len(s.Bloom))))
	}
	return true, w.Flush()
}

// keyText unpacks {"pkValue": ...}.
func keyText(raw json.RawMessage) string {
	var key struct {
		Value json.RawMessage `json:"pkValue"`
	}
	if json.Unmarshal(raw, &key) != nil || key.Value == nil {
		return shortened(string(raw))
	}
	return shortened(string(key.Value))
}
