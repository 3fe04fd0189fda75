package binlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// statsFile is one statistics object of a Milvus and the keys of its flush.
type statsFile struct {
	key      string
	bytes    []byte
	compound bool
	flushes  []*column.Column // one, or in a compound object all, oldest first
}

// statsFiles pairs statistics with the keys in the insert logs beside them.
func statsFiles(t *testing.T, files map[string][]byte) (out []statsFile) {
	t.Helper()
	keys := map[string][]*column.Column{} // by <collection>/<partition>/<segment>/<field>
	for _, f := range binlogsOf(files) {
		if f.field >= column.FirstUser {
			at := fmt.Sprintf("%d/%d/%d/%d", f.collection, f.partition, f.segment, f.field)
			keys[at] = append(keys[at], mustRead(t, f).Rows)
		}
	}
	singles := map[string]int{}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		_, path, ok := strings.Cut(key, "stats_log/")
		if !ok {
			continue
		}
		at, id := path[:strings.LastIndexByte(path, '/')], path[strings.LastIndexByte(path, '/')+1:]
		f := statsFile{key: key, bytes: files[key], compound: id == "1", flushes: keys[at]}
		if len(f.flushes) == 0 {
			t.Fatalf("%s: no insert logs", key)
		}
		if !f.compound {
			f.flushes = f.flushes[singles[at]:][:1]
			singles[at]++
		}
		out = append(out, f)
	}
	return out
}

func mustEncodeStats(t testing.TB, keys *column.Column, kind FilterKind, rate float64) []byte {
	t.Helper()
	var e Encoder
	f, err := e.keyStats(keys, kind, rate)
	if err != nil {
		t.Fatal(err)
	}
	b := joined(f)
	if f.Size != int64(len(b)) || f.Original != f.Size || f.Borrowed || f.Rows != keys.Rows {
		t.Errorf("file %+v of %d bytes", f, len(b))
	}
	f.Free()
	return b
}

// A loader that finds a filter of another layout takes it for one that holds
// other keys, and drops deletes of keys that are there.
func TestStatisticsAreByteEqualToThoseOfMilvus25(t *testing.T) {
	for folder, kind := range map[string]FilterKind{"v1-insertcodec-BlockedBloomFilter": BlockedFilter, "v1-insertcodec-BasicBloomFilter": BasicFilter} {
		all := statsFiles(t, goldenFiles(t, folder))
		if len(all) != 5 {
			t.Errorf("%s: %d statistics", folder, len(all))
		}
		for _, f := range all {
			var got []byte
			for _, keys := range f.flushes {
				got = append(append(got, ','), mustEncodeStats(t, keys, kind, falsePositives)...)
			}
			got = got[1:]
			if f.compound {
				got = append(append([]byte{'['}, got...), ']')
			}
			if !bytes.Equal(got, f.bytes) {
				t.Errorf("%s\n%s\nwant\n%s", f.key, got, f.bytes)
			}
		}
	}
}

// 2.3 made basic filters for another rate and did not say that they are basic.
func TestStatisticsOf23HaveTheSameFiltersAndBounds(t *testing.T) {
	objects, flushes := 0, 0
	for _, name := range []string{"all_types", "varchar_pk", "ddl", "upsert", "concurrent"} {
		for _, f := range statsFiles(t, recordedFiles(t, name)) {
			objects++
			all, err := ReadKeyStats(f.bytes)
			if err != nil {
				t.Fatalf("%s: %v", f.key, err)
			}
			var got []KeyStats
			for i := range all {
				if all[i].Bits != growing {
					got = append(got, all[i])
				} else {
					holdsAll(t, &all[i], f.flushes[len(got)])
				}
			}
			if len(got) != len(f.flushes) || len(all) != len(got) && !f.compound {
				t.Fatalf("%s: %d of %d flushes", f.key, len(got), len(f.flushes))
			}
			for i, keys := range f.flushes {
				flushes++
				checkStats23(t, f.key, &got[i], keys)
			}
		}
	}
	if objects != 85 || flushes != 91 {
		t.Errorf("%d objects, %d flushes", objects, flushes)
	}
}

// growing is the size of the filter, made for 100,000 keys, with which 2.3
// answers for the flush under way; a sealing flush leaves it in the compound
// object, before its own.
const growing = 623523

func checkStats23(t *testing.T, key string, got *KeyStats, keys *column.Column) {
	t.Helper()
	again, err := ReadKeyStats(mustEncodeStats(t, keys, BasicFilter, 0.05))
	if err != nil {
		t.Fatal(err)
	}
	want := again[0]
	if got.Kind != BasicFilter || got.Hashes != want.Hashes || got.Bits != want.Bits || got.Field != keys.Field.ID || got.Type != keys.Field.Type ||
		!bytes.Equal(got.Min, want.Min) || !bytes.Equal(got.Max, want.Max) {
		t.Errorf("%s: %+v, want %+v", key, got, want)
	}
	if !slices.Equal(got.filter.(basicFilter).BitSet().Words(), want.filter.(basicFilter).BitSet().Words()) {
		t.Errorf("%s: the bits differ", key)
	}
	holdsAll(t, got, keys)
}

func holdsAll(t *testing.T, s *KeyStats, keys *column.Column) {
	t.Helper()
	for v := range keys.Values() {
		if !s.MayHold(v) {
			t.Fatalf("key %q is not in the statistics of its own flush", v)
		}
	}
}

// someKeys are n keys; the digests below belong to them.
func someKeys(n int, texts bool) *column.Column {
	var pool column.Pool
	c := column.New(column.Field{ID: 100, Type: schemapb.DataType_Int64, PrimaryKey: true})
	if texts {
		c.Field.Type = schemapb.DataType_VarChar
	}
	for i := range n {
		v := int64(i)*1000003 - 500000
		if texts {
			c.AppendBytes(&pool, fmt.Appendf(nil, "%*d", 1+i%300, v))
		} else {
			c.AppendInt64(&pool, v, 1)
		}
	}
	return c
}

// The golden files hold few keys. These are SHA-256 of the filters' JSON as
// the libraries that Milvus uses write it, for the same keys.
func TestFiltersOfManyKeysAreThoseOfMilvusLibraries(t *testing.T) {
	for _, c := range []struct {
		keys          int
		texts         bool
		blocked, with string
	}{
		{1, false, "3f6d0dc24164d65208512c4fcb8bb9d64fecee120e3dc2bc6067e6f6346c6780", "cce7a48adf5ee9d523962c7a69385150e48091969fbc9f89c4f47d3fa66fcbb0"},
		{1, true, "df5004f3f37d2402e4d54e03c6e83abc85f2fe92b1e8a6a698f9d5846129b132", "3a71514443717cbb79bb6a3eba07ef88e7c5b3d6c385f2c23560fbee9dfbd167"},
		{31, false, "3125bc6b6960576511826d6b0d22bcfbb7d069aa1b4a3b938d495eadfcd5b519", "b3eb472ea61ad5bd7f63adda9170032eb61c967b3f165a0791764cfd8a734ff1"},
		{1000, true, "619bf853733dd9128a37af1edb5bb701fa2626d90900e77632fb337f38964de9", "e7a53a1b9a07a1aaeff87e6ad7b611b925ca8dfdf2982773e5fed920e6092eb9"},
		{70001, false, "ad1b3fe7d8dec0a369ece89d445e70a3b2ae900daad04d354ade13156fe22cfc", "bc26a763c02113c553a69710bd20e6cb4fbb57d553893a4eb0be057d80d8a39d"},
		{70001, true, "09dc097b664269acd9c5b421a8a7d5ee2d6789a44fa716ce718f8fcf60e9f904", "a0a42a2b7efa32a7d50c8e2dd2042675d199ad5c3640faba76c71ef9db1ee16f"},
	} {
		for kind, want := range map[FilterKind]string{BlockedFilter: c.blocked, BasicFilter: c.with} {
			var file struct {
				Filter json.RawMessage `json:"bf"`
			}
			if err := json.Unmarshal(mustEncodeStats(t, someKeys(c.keys, c.texts), kind, falsePositives), &file); err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(file.Filter); hex.EncodeToString(sum[:]) != want {
				t.Errorf("%d keys, texts %t, kind %d: another filter, %.60s", c.keys, c.texts, kind, file.Filter)
			}
		}
	}
}
