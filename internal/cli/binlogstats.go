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
		fmt.Fprintf(w, "%d\t%s\t%s\t%s as JSON\n", *s.Field, keyText(s.MinPK), keyText(s.MaxPK), filterText(s.Bloom))
	}
	return true, w.Flush()
}

// filterText tells the size of a bloom filter: a basic one says its bits, a
// blocked one is a list of blocks of 64 bytes.
func filterText(raw json.RawMessage) string {
	var filter struct {
		Bits   int             `json:"m"`
		Hashes int             `json:"k"`
		Words  json.RawMessage `json:"b"`
	}
	var blocks []string
	size := approximate(int64(len(raw)))
	if json.Unmarshal(raw, &filter) != nil {
		return size
	}
	if json.Unmarshal(filter.Words, &blocks) == nil {
		filter.Bits = len(blocks) * 64 * 8
	}
	return fmt.Sprintf("%d bits, %d hashes, %s", filter.Bits, filter.Hashes, size)
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
