package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

// dump prints the content of one object.
type dump struct {
	out   lines
	json  bool
	limit int // rows; 0: all
	size  int // of the object
}

// binlog prints an insert or delta log.
func (d *dump) binlog(data []byte) error {
	log, err := binlog.Read(data)
	if err != nil {
		return err
	}
	head := newHeaderView(log, d.size)
	if d.json {
		return d.jsonLines(log, head)
	}
	d.header(head)
	if log.Deltas != nil {
		return d.table("ROW\tKEY\tTIMESTAMP", head.Rows, deleteLines(log.Deltas))
	}
	return d.table("ROW\tVALUE", head.Rows, valueLines(log.Rows, false))
}

func (d *dump) header(h headerView) {
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"kind", h.Kind + " log"},
		{"collection", fmt.Sprint(h.Collection)},
		{"partition", fmt.Sprint(h.Partition)},
		{"segment", fmt.Sprint(h.Segment)},
		{"field", fieldText(h)},
		{"rows", fmt.Sprint(h.Rows)},
		{"timestamps", hybridText(h.MinTS) + " to " + hybridText(h.MaxTS)},
		{"size", fmt.Sprintf("%s, of %s in memory", approximate(int64(h.Bytes)), approximate(max(h.OriginalSize, 0)))},
		{"stored as", fmt.Sprintf("parquet, %s, %s", strings.ToLower(h.Codec), strings.Join(h.Encodings, " "))},
		{"written by", h.CreatedBy},
	} {
		fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
	}
	fmt.Fprintln(w)
	w.Flush()
}

func fieldText(h headerView) string {
	if h.Kind == "delete" {
		return "keys and timestamps of deletes"
	}
	return fmt.Sprintf("%d (%s)", h.Field, h.Type)
}

// hybridText writes a hybrid timestamp with its physical part for people.
func hybridText(ts uint64) string { return fmt.Sprintf("%d (%s)", ts, hybrid(ts)) }

// cell is how long a value may be in a table.
const cell = 120

// table prints rows with their number, and says how many it left out.
func (d *dump) table(head string, rows int64, values iter.Seq2[string, error]) error {
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	n := 0
	for text, err := range values {
		if err != nil {
			return err
		}
		if n == d.limit && d.limit > 0 {
			break
		}
		fmt.Fprintf(w, "%d\t%s\n", n, text)
		if n++; n%1000 == 0 {
			w.Flush() // a table of a million rows is not kept in memory
		}
	}
	w.Flush()
	if left := rows - int64(n); left > 0 {
		fmt.Fprintf(d.out, "and %d more rows (--limit 0 prints all)\n", left)
	}
	return nil
}

// valueLines renders an insert log's values, whole or shortened for a table.
func valueLines(c *column.Column, whole bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var line []byte
		for v, valid := range c.Values() {
			var err error
			line, err = binlog.AppendJSON(line[:0], c.Field, v, valid)
			text := string(line)
			switch {
			case !whole && c.Field.ID == column.Timestamp && valid:
				text = hybridText(uint64(column.Int64(v)))
			case !whole:
				text = shortened(text)
			}
			if !yield(text, err) || err != nil {
				return
			}
		}
	}
}

func deleteLines(d *binlog.Deltas) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for key, ts := range deletes(d) {
			if !yield(shortened(key)+"\t"+hybridText(ts), nil) {
				return
			}
		}
	}
}

// deletes yields keys as JSON and timestamps.
func deletes(d *binlog.Deltas) iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		next, stop := iter.Pull2(d.Timestamps.Values())
		defer stop()
		for key := range d.Keys.Values() {
			ts, _, _ := next()
			text, err := binlog.AppendJSON(nil, d.Keys.Field, key, true)
			if err != nil {
				text = []byte("?") // keys were read as one of the two types that always render
			}
			if !yield(string(text), uint64(column.Int64(ts))) {
				return
			}
		}
	}
}

// shortened keeps a table's rows on their line; tabs would shift its columns.
func shortened(s string) string {
	s = strings.NewReplacer("\t", " ", "\n", " ").Replace(s)
	if utf8.RuneCountInString(s) <= cell {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", string([]rune(s)[:cell]), len(s))
}

// jsonLines prints {"header": {...}}, then {"row": n, ...} a row.
func (d *dump) jsonLines(log *binlog.Log, head headerView) error {
	text, err := json.Marshal(map[string]headerView{"header": head})
	if err == nil {
		err = d.out.line(text)
	}
	if err != nil {
		return err
	}
	n := 0
	row := func(line string) (more bool, err error) {
		if n == d.limit && d.limit > 0 {
			return false, nil
		}
		_, err = fmt.Fprintf(d.out, "{\"row\":%d,%s}\n", n, line)
		n++
		return err == nil, err
	}
	if log.Deltas != nil {
		for key, ts := range deletes(log.Deltas) {
			if more, err := row(fmt.Sprintf(`"pk":%s,"ts":"%d"`, key, ts)); !more {
				return err
			}
		}
		return nil
	}
	for value, err := range valueLines(log.Rows, true) {
		if err != nil {
			return err
		}
		if strings.ContainsAny(value, "\r\n") { // JSON text as somebody wrote it
			var line bytes.Buffer
			if err := json.Compact(&line, []byte(value)); err != nil {
				return err
			}
			value = line.String()
		}
		if more, err := row(`"value":` + value); !more {
			return err
		}
	}
	return nil
}
