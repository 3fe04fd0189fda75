package binlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"flowgraph/stages/column"
)

// frugally reads and fails if that takes much more memory than a file of this
// size can fill.
func frugally(t *testing.T, b []byte, what ...any) (*Log, error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	log, err := Read(b)
	runtime.ReadMemStats(&after)
	if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
		t.Fatalf("%v: %v", what, err)
	}
	limit := 1<<20 + 2*min(zstdFactor*uint64(len(b)), columnFloor+columnFactor*uint64(len(b)))
	if n := after.TotalAlloc - before.TotalAlloc; n > limit {
		t.Fatalf("%v: %d bytes allocated for a file of %d: %v", what, n, len(b), err)
	}
	return log, err
}

// assembled is a file of a head, and pages and a footer with the lengths that
// tell where they end: so damage within one does not hide what is behind it.
func assembled(h head, extras string, pages, footer []byte) []byte {
	payload := append(bytes.Clone(pages), footer...)
	payload = binary.LittleEndian.AppendUint32(payload, uint32(len(footer)))
	return wrapped(extras, h, append(payload, parquetMagic...))
}

// disassembled is the other way round.
func disassembled(t testing.TB, b []byte) (h head, extras string, pages, footer []byte) {
	t.Helper()
	log, err := ReadHeaders(b)
	if err != nil {
		t.Fatal(err)
	}
	d, rest := log.Descriptor, log.Payload[:len(log.Payload)-8]
	at := len(rest) - int(binary.LittleEndian.Uint32(log.Payload[len(rest):]))
	h = head{meta: Meta{d.Collection, d.Partition, d.Segment, d.MinTS, d.MaxTS}, field: d.Field, kind: d.Type, event: log.Data.Type}
	return h, string(d.RawExtras), rest[:at], rest[at:]
}

// A library that makes room for what a length or a count says, and then looks
// whether it is there, ends the process by one damaged byte.
func TestALengthOrCountAsksForNoMoreThanThereCanBe(t *testing.T) {
	for _, name := range []string{
		"v1-insertcodec-BlockedBloomFilter/insert_log/445566/445567/445600/116/445900018", "v1-insertcodec-BlockedBloomFilter/insert_log/445566/445567/445600/113/445900015",
		"v1-delta/parquet-varchar/delta_log/445566/-1/445650/445900113", "v1-delta/json-int64/delta_log/445566/-1/445650/445900110",
	} {
		found := false
		for _, f := range append(goldenLogs(t, "v1-insertcodec-BlockedBloomFilter"), goldenLogs(t, "v1-delta")...) {
			if !strings.HasSuffix(f.key, name) {
				continue
			}
			found = true
			h, extras, pages, footer := disassembled(t, f.bytes)
			if _, err := frugally(t, assembled(h, extras, pages, footer), name); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, claim := range []uint64{1 << 16, 1<<28 - 2, 1 << 31, 1<<32 - 2, 1 << 40} {
				for i := len(parquetMagic); i < len(pages); i++ {
					frugally(t, assembled(h, extras, claimed(pages, i, claim), footer), name, "page", i, claim)
				}
				for i := range footer {
					frugally(t, assembled(h, extras, pages, claimed(footer, i, claim)), name, "footer", i, claim)
				}
			}
		}
		if !found {
			t.Errorf("%s is not there", name)
		}
	}
}

// claimed puts a number in a byte's place.
func claimed(b []byte, at int, claim uint64) []byte {
	return append(binary.AppendUvarint(bytes.Clone(b[:at]), claim), b[at+1:]...)
}

// A stack that is full ends the process, and nothing can recover from it.
func TestAFooterIsNotNestedForEver(t *testing.T) {
	h := head{meta: meta, field: 100, kind: types[4].Type, event: InsertEvent}
	for _, one := range []byte{1<<4 | thriftStruct, 1<<4 | thriftList} { // of lists in lists
		footer := bytes.Repeat([]byte{one}, 16<<20)
		if _, err := Read(assembled(h, "", []byte(parquetMagic), footer)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%#x: %v", one, err)
		}
	}
}

// Rows that are alike take a few bytes, however many they are said to be.
func TestAColumnExpandsUpToItsLimit(t *testing.T) {
	var e Encoder
	log, err := ReadHeaders(joined(mustEncode(t, &e, fill(types[4], 5000, 0, 1))))
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]error{9 * 5000: nil, 9*5000 - 1: ErrCorrupt} {
		p, err := openPayload(log.Payload)
		if err != nil {
			t.Fatal(err)
		}
		p.limit = limit
		if _, err := p.rows(log.Descriptor); !errors.Is(err, want) {
			t.Errorf("%d rows in %d bytes: %v, want %v", 5000, limit, err, want)
		}
	}
}

// A column with fewer rows than the others of its flush would shift them all.
func TestRowsAreAsManyAsTheFooterSays(t *testing.T) {
	var e Encoder
	h, extras, pages, footer := disassembled(t, joined(mustEncode(t, &e, fill(types[4], 50, 0, 1))))
	at := bytes.Index(footer, []byte{1<<4 | thriftI64, 2 * 50}) // FileMetaData.num_rows
	if at < 0 {
		t.Fatalf("%x", footer)
	}
	for rows, want := range map[byte]error{50: nil, 49: ErrCorrupt, 51: ErrCorrupt} {
		other := bytes.Clone(footer)
		other[at+1] = 2 * rows
		if _, err := Read(assembled(h, extras, pages, other)); !errors.Is(err, want) {
			t.Errorf("%d rows: %v, want %v", rows, err, want)
		}
	}
}

// FuzzReadPayload damages pages and footers behind which everything else is
// whole.
func FuzzReadPayload(f *testing.F) {
	for _, folder := range []string{"v1-insertcodec-BlockedBloomFilter", "v1-streamwriter", "v1-insertcodec-2.6.9-types", "v1-delta"} {
		for _, log := range goldenLogs(f, folder) {
			h, extras, pages, footer := disassembled(f, log.bytes)
			f.Add(int32(h.kind), h.event == DeleteEvent, extras, pages, footer)
		}
	}
	f.Fuzz(func(t *testing.T, kind int32, deletes bool, extras string, pages, footer []byte) {
		h := head{meta: meta, field: 100, kind: column.Type(kind), event: InsertEvent}
		if deletes {
			h.event = DeleteEvent
		}
		log, err := frugally(t, assembled(h, extras, pages, footer))
		if err != nil {
			return
		}
		if log.Deltas != nil && log.Deltas.Keys.Rows != log.Deltas.Timestamps.Rows {
			t.Fatalf("%d keys, %d timestamps", log.Deltas.Keys.Rows, log.Deltas.Timestamps.Rows)
		}
		if log.Rows != nil {
			renders(t, log)
		}
	})
}
