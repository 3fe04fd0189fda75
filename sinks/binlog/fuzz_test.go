package binlog

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// seeds are small files of both kinds and of every codec path.
func seeds(f *testing.F, deltas bool) {
	for _, folder := range []string{"v1-insertcodec-BlockedBloomFilter", "v1-insertcodec-2.6.9-types", "v1-delta"} {
		for _, log := range goldenLogs(f, folder) {
			if deltas == (log.field == -1) {
				f.Add(log.bytes)
			}
		}
	}
	var e Encoder
	for _, t := range types {
		if !deltas {
			f.Add(joined(mustEncode(f, &e, fill(t, 20, 3, 1))))
		}
	}
}

// Damaged objects are met when people need their data most: an error, never
// a panic, never much more memory than a file of its size can fill. What is
// read can be rendered or refused.
func FuzzRead(f *testing.F) {
	seeds(f, false)
	f.Fuzz(func(t *testing.T, b []byte) {
		log, err := frugally(t, b)
		if err == nil && log.Rows != nil {
			renders(t, log)
		}
	})
}

// renders goes through all rows of an insert log.
func renders(t *testing.T, log *Log) {
	t.Helper()
	rows := 0
	for v, ok := range log.Rows.Values() {
		if _, err := AppendJSON(nil, log.Rows.Field, v, ok); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
			t.Fatal(err)
		}
		rows++
	}
	if rows != log.Rows.Rows {
		t.Fatalf("%d rows of %d", rows, log.Rows.Rows)
	}
}

func FuzzReadDeltas(f *testing.F) {
	seeds(f, true)
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := ReadDeltas(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		if d.Keys.Rows != d.Timestamps.Rows {
			t.Fatalf("%d keys, %d timestamps", d.Keys.Rows, d.Timestamps.Rows)
		}
	})
}

// Every cut and every flipped byte of one file, as a fixed part of the tests.
func TestDamagedFilesAreErrors(t *testing.T) {
	var e Encoder
	whole := joined(mustEncode(t, &e, fill(types[8], 50, 5, 1)))
	for n := range whole {
		if _, err := Read(whole[:n:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d of %d: %v", n, len(whole), err)
		}
		for _, bit := range []byte{1, 0x80} {
			b := slices.Clone(whole)
			b[n] ^= bit
			if _, err := Read(b); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("byte %d flipped: %v", n, err)
			}
		}
	}
}

// A second event would give its rows for those of the first.
func TestASecondDataEventIsRefused(t *testing.T) {
	var e Encoder
	whole := joined(mustEncode(t, &e, fill(types[4], 50, 0, 1)))
	log, err := ReadHeaders(whole)
	if err != nil {
		t.Fatal(err)
	}
	event := whole[len(whole)-int(log.Data.Length):]
	for _, more := range [][]byte{event, event[:eventHeader], {0}} {
		if _, err := Read(slices.Concat(whole, more)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes more: %v", len(more), err)
		}
	}
}

func FuzzReadKeyStats(f *testing.F) {
	for _, folder := range []string{"v1-insertcodec-BlockedBloomFilter", "v1-insertcodec-BasicBloomFilter"} {
		for key, b := range goldenFiles(f, folder) {
			if strings.Contains(key, "/stats_log/") {
				f.Add(b)
			}
		}
	}
	f.Add([]byte(`{"fieldID":100,"max":7,"min":-7,"bf":{"m":44,"k":11,"b":"AAAAAAAAACwAAASUzWLP1A=="}}`))
	f.Add([]byte(`{"fieldID":100,"bfType":2,"bf":null,"pkType":21,"maxPk":"b","minPk":"a"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := ReadKeyStats(b)
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
			t.Fatal(err)
		}
		for i := range all {
			s := &all[i]
			for _, key := range [][]byte{nil, s.Min, s.Max, make([]byte, 8), []byte("m")} {
				s.MayHold(key)
			}
			if s.Bits > 8*int64(len(b)) {
				t.Fatalf("a filter of %d bits out of %d bytes", s.Bits, len(b))
			}
		}
	})
}
