package checkpoints

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Errors of a Bucket, to be tested with errors.Is.
var (
	ErrNotExist = errors.New("object does not exist")
	// ErrConflict: a condition failed and what is stored is not what was sent.
	ErrConflict = errors.New("another object is stored under this key")
	// ErrRefused: the store answered and will not do it (403, 400, no bucket).
	ErrRefused = errors.New("refused by the store")
)

// Bucket is the object store as the checkpoint store, the sink and the way
// back see it. Implementations retry inside: a call returns when it worked,
// when the context ends, or when trying again cannot help. Errors name the call
// and the key or prefix: callers add only what they know besides.
type Bucket interface {
	// Put stores an object under a condition. A repeat of bytes that are
	// already stored is a success, whatever the condition: a lost reply is
	// told from a conflict by reading back. Anything else under the key is
	// ErrConflict.
	Put(ctx context.Context, key string, o Object, c Condition) (Info, error)
	// Get reads a whole object; ErrNotExist if there is none.
	Get(ctx context.Context, key string) ([]byte, Info, error)
	// Stat is Get without the bytes.
	Stat(ctx context.Context, key string) (Info, error)
	// List yields every object whose key begins with prefix, in key order.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
}

// Object is what is put: the concatenation of Parts. The parts must not be
// changed until Put returns; every attempt sends the same bytes.
type Object struct {
	Parts [][]byte
	Meta  map[string]string // user metadata, keys in lower case
	// CRC32C of all parts (Castagnoli), if the writer already knows it.
	CRC32C *uint32
}

// Size is the object's length in bytes.
func (o Object) Size() int64 {
	var n int64
	for _, p := range o.Parts {
		n += int64(len(p))
	}
	return n
}

// Condition says when a Put may happen. The zero value creates only
// (If-None-Match: *); with ETag set it replaces exactly that version.
type Condition struct {
	ETag string
	// Refusals is how often a refusal is tried again before ErrRefused; 0
	// waits as for an unreachable store, until the context ends.
	Refusals int
}

// Info describes a stored object. Keys are relative to the bucket's root path.
type Info struct {
	Key      string
	ETag     string
	Size     int64
	Modified time.Time
	Meta     map[string]string // user metadata, from Stat and Get only
}
