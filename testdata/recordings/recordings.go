// Package recordings carries what a real Milvus 2.3.5 wrote to its log inside
// the program, so that the demo needs no file beside it.
package recordings

import (
	"embed"
	"io/fs"
)

// Three small ones, of one Milvus and one after the other.
//
//go:embed all_types/records.jsonl.gz ddl/records.jsonl.gz upsert/records.jsonl.gz
var files embed.FS

// Files holds NAME/records.jsonl.gz of every embedded recording.
func Files() fs.FS { return files }
