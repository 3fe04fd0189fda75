package archive_test

import (
	"fmt"
	"slices"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

func damages() []damage {
	return []damage{
		{"an object is gone", func(t *testing.T, m *membucket.Bucket) {
			s := pick(t, m, withRows)
			m.Remove(s.DataKeys(s.Logs[0].ID)[2])
		}, "does not exist"},
		{"a log entry twice", func(t *testing.T, m *membucket.Bucket) {
			edit(t, m, pick(t, m, func(s *archive.Segment) bool { return withRows(s) && !s.InManifest }), func(s *checkpoints.Segment) {
				s.Logs, s.Rows = append(s.Logs, s.Logs[0]), s.Rows+s.Logs[0].Rows
			})
		}, "after log"},
		{"a flush of rows twice", func(t *testing.T, m *membucket.Bucket) { addFlush(t, m, pick(t, m, withRows)) }, "more often than it was produced"},
		{"a flush of deletes twice", func(t *testing.T, m *membucket.Bucket) { addFlush(t, m, pick(t, m, withDeletes)) }, "more often than it was produced"},
		{"a byte flipped in a file", func(t *testing.T, m *membucket.Bucket) {
			s := pick(t, m, withRows)
			key := s.DataKeys(s.Logs[0].ID)[2]
			data := get(t, m, key)
			data[len(data)/2] ^= 1
			put(t, m, key, data, metaOf(t, m, key))
		}, ""},
		{"another value in a field", func(t *testing.T, m *membucket.Bucket) {
			s := pick(t, m, withRows)
			rewrite(t, m, s.DataKeys(s.Logs[0].ID)[2], func(c *column.Column) { c.Pages[0].Data[len(c.Pages[0].Data)-1] ^= 1 })
		}, "differs from what offset"},
		{"a row gone from one field", func(t *testing.T, m *membucket.Bucket) {
			s := pick(t, m, withRows)
			rewrite(t, m, s.DataKeys(s.Logs[0].ID)[0], func(c *column.Column) {
				c.Rows, c.Pages[0].Rows, c.Pages[0].Data = c.Rows-1, c.Pages[0].Rows-1, c.Pages[0].Data[8:]
			})
		}, "rows, the log entry says"},
		{"a flush gone from the entry", func(t *testing.T, m *membucket.Bucket) {
			edit(t, m, pick(t, m, withRows), func(s *checkpoints.Segment) {
				s.Rows, s.Logs, s.Bytes = 0, nil, 0
				if s.State == checkpoints.Normal {
					s.State = checkpoints.Flushed
				}
			})
		}, "are missing"},
		{"a whole segment gone from the document", func(t *testing.T, m *membucket.Bucket) {
			s := pick(t, m, func(s *archive.Segment) bool { return withRows(s) && !s.InManifest })
			editDoc(t, m, s.VChannel, func(d *checkpoints.Document) { delete(d.Segments, s.ID) })
		}, "are missing"},
		{"a manifest gone", func(t *testing.T, m *membucket.Bucket) { m.Remove(pick(t, m, manifested).ManifestKey()) }, "are missing"},
		{"an end too low", func(t *testing.T, m *membucket.Bucket) {
			edit(t, m, pick(t, m, withRows), func(s *checkpoints.Segment) { s.End.Offset = s.Start.Offset + 1 })
		}, "outside its range"},
		{"an end too high", func(t *testing.T, m *membucket.Bucket) {
			edit(t, m, pick(t, m, withRows), func(s *checkpoints.Segment) { s.End.Offset += 1_000_000 })
		}, "above the seek position"},
		{"a start too low", func(t *testing.T, m *membucket.Bucket) {
			edit(t, m, pick(t, m, func(s *archive.Segment) bool { return withRows(s) && s.Start.Offset > 0 }), func(s *checkpoints.Segment) { s.Start.Offset-- })
		}, "its first row is at"},
		{"other sizes in an entry", func(t *testing.T, m *membucket.Bucket) {
			edit(t, m, pick(t, m, withRows), func(s *checkpoints.Segment) { s.Logs[0].Bytes++ })
		}, "bytes, its entry says"},
		{"other timestamps in an entry", func(t *testing.T, m *membucket.Bucket) {
			edit(t, m, pick(t, m, withRows), func(s *checkpoints.Segment) { s.Logs[0].MaxTS++ })
		}, "its entry says"},
		{"deletes in another order", func(t *testing.T, m *membucket.Bucket) {
			s := pick(t, m, withDeletes)
			key := s.DataKeys(s.Logs[0].ID)[0]
			log, err := binlog.Read(get(t, m, key))
			if err != nil {
				t.Fatal(err)
			}
			k, ts := column.New(log.Deltas.Keys.Field), column.New(log.Deltas.Timestamps.Field)
			reversed(log.Deltas.Keys, k)
			reversed(log.Deltas.Timestamps, ts)
			file, err := new(binlog.Encoder).EncodeDeltas(binlog.Meta{Collection: s.Collection, Partition: s.Partition, Segment: s.ID,
				MinTS: log.Descriptor.MinTS, MaxTS: log.Descriptor.MaxTS}, k, ts)
			if err != nil {
				t.Fatal(err)
			}
			put(t, m, key, slices.Concat(file.Parts...), metaOf(t, m, key))
		}, "stands after a later one"},
		{"a key that the statistics deny", func(t *testing.T, m *membucket.Bucket) {
			s := pick(t, m, withRows)
			other := pick(t, m, func(o *archive.Segment) bool { return withRows(o) && o.ID != s.ID })
			key := checkpoints.StatsLogKey(s.Collection, s.Partition, s.ID, s.PKField, s.Logs[0].ID)
			put(t, m, key, get(t, m, checkpoints.StatsLogKey(other.Collection, other.Partition, other.ID, other.PKField, other.Logs[0].ID)), metaOf(t, m, key))
		}, "it denies key"},
		{"compound statistics gone", func(t *testing.T, m *membucket.Bucket) { m.Remove(pick(t, m, manifested).CompoundKey()) }, "/1: object does not exist"},
		{"compound statistics of another segment", func(t *testing.T, m *membucket.Bucket) {
			s := pick(t, m, manifested)
			other := pick(t, m, func(o *archive.Segment) bool { return manifested(o) && o.ID != s.ID })
			put(t, m, s.CompoundKey(), get(t, m, other.CompoundKey()), metaOf(t, m, s.CompoundKey()))
		}, "it denies key"},
		{"a foreign object beside a segment's", func(t *testing.T, m *membucket.Bucket) {
			s := pick(t, m, withRows)
			m.Set(s.DataKeys("100000010000099999")[0], []byte("?"))
		}, "do not tell why it is there"},
		{"an object of the last epoch beside a segment's", func(t *testing.T, m *membucket.Bucket) {
			s := pick(t, m, withRows)
			epoch := open(t, m).VChannel(s.VChannel).Doc.Epoch
			put(t, m, s.DataKeys(fmt.Sprintf("1%07d0000099999", epoch))[0], []byte("?"), checkpoints.Meta(s.VChannel, epoch))
		}, "is the last of"},
		{"an object that is none of ours", func(t *testing.T, m *membucket.Bucket) { m.Set("insert_log/README", []byte("?")) }, "no object of an archive"},
		{"a document gone", func(t *testing.T, m *membucket.Bucket) {
			m.Remove(checkpoints.DocumentKey(open(t, m).VChannels()[0].Name))
		}, "document is gone"},
		{"a mark gone", func(t *testing.T, m *membucket.Bucket) {
			m.Remove(checkpoints.BornKey(open(t, m).VChannels()[0].Name))
		}, "is missing"},
		{"a drop forgotten", func(t *testing.T, m *membucket.Bucket) {
			editDoc(t, m, open(t, m).VChannels()[0].Name, func(d *checkpoints.Document) {
				for _, c := range d.Collections {
					c.Dropped = nil
				}
			})
		}, "is not marked"},
		{"a drop that never was", func(t *testing.T, m *membucket.Bucket) {
			editDoc(t, m, open(t, m).VChannels()[0].Name, func(d *checkpoints.Document) {
				for _, c := range d.Collections {
					c.Dropped = &checkpoints.Drop{Offset: 3}
				}
			})
		}, "but was not"},
		{"a DDL event gone", func(t *testing.T, m *membucket.Bucket) {
			for _, key := range m.Keys("ddl/") {
				m.Remove(key)
			}
		}, "no DDL event"},
		{"an auto end too low", func(t *testing.T, m *membucket.Bucket) {
			s := pick(t, m, withDeletes)
			editDoc(t, m, s.VChannel, func(d *checkpoints.Document) {
				d.Collections[s.Collection].Partitions[s.Partition].AutoEndDelete = 1
			})
		}, "auto end 1"},
		{"a seek position before the log's end", func(t *testing.T, m *membucket.Bucket) {
			editDoc(t, m, open(t, m).VChannels()[0].Name, func(d *checkpoints.Document) {
				d.Seek.Offset--
				d.ReadFrom = d.Seek
			})
		}, "the seek position is"},
		{"a record in quarantine that is good", func(t *testing.T, m *membucket.Bucket) {
			d := open(t, m).VChannels()[0].Doc
			m.Set(checkpoints.QuarantineKey(d.VChannel, d.TopicID, 1), []byte(`{"offset":1,"value":"","reason":"?"}`))
		}, "but it is a good record"},
	}
}
