package recording

import (
	"os"
	"path/filepath"
	"testing"
)

// Any file is a recording or an error that names the line; what is read of it
// is written back so that it reads the same.
func FuzzAnyFileAsARecording(f *testing.F) {
	f.Add([]byte(`{"topic":"t","partition":0,"offset":1,"timestamp":2,"key":null,"value":"AA==","headers":[["h","AA=="],["n",null]]}` + "\n"))
	f.Add([]byte("{}\n\n"))
	f.Add([]byte(`{"topic":"t","partition":0,"offset":1,"timestamp":2,"headers":[[]]}`))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Add([]byte("\x28\xb5\x2f\xfd"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"r.jsonl", "r.jsonl.gz", "r.jsonl.zst"} {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Open(path)
			if err != nil {
				continue
			}
			records := 0
			for rec, err := range r.All() {
				if records++; records > len(data)*1100 { // zstd's and gzip's best
					t.Fatal("more records than the file can hold")
				}
				if err != nil {
					if err.Error() == "" {
						t.Error("an error without words")
					}
					break
				}
				if rec.Topic == "" || rec.Offset < 0 || rec.Partition < 0 {
					t.Errorf("%+v", rec)
				}
			}
			r.Close()
		}
	})
}
