// Package membucket is a checkpoints.Bucket in memory for tests: it honours
// conditions, counts calls and lets a test fail a call before or after it
// took effect.
package membucket

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"flowgraph/checkpoints"
)

// Op names a Bucket method.
type Op string

const (
	Put  Op = "put"
	Get  Op = "get"
	Stat Op = "stat"
	List Op = "list"
)

// Call is one call of the bucket. Data and Condition are a Put's.
type Call struct {
	Op        Op
	Key       string // of List: the prefix
	Data      []byte
	Meta      map[string]string
	Condition checkpoints.Condition
}

// Hook sees a call and may delay it, or fail it by an error. It runs without
// the bucket's lock, so it may call the bucket.
type Hook func(context.Context, Call) error

// Bucket is safe for concurrent use.
type Bucket struct {
	mu      sync.Mutex
	objects map[string]object
	calls   []Call
	before  Hook
	after   Hook
}

type object struct {
	data []byte
	info checkpoints.Info
}

// New returns an empty bucket.
func New() *Bucket { return &Bucket{objects: map[string]object{}} }

// Before sets the hook that runs before a call has any effect: an error of
// it is the call's, and the call did not happen. nil removes it.
func (b *Bucket) Before(h Hook) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before = h
}

// After sets the hook that runs once a call took effect: an error of it is a
// lost reply.
func (b *Bucket) After(h Hook) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.after = h
}

// call names itself and its key in every error, as checkpoints.Bucket asks.
func (b *Bucket) call(ctx context.Context, c Call, do func() error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s %s: %w", c.Op, c.Key, err)
		}
	}()
	b.mu.Lock()
	b.calls = append(b.calls, c)
	before, after := b.before, b.after
	b.mu.Unlock()
	if before != nil {
		if err := before(ctx, c); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.mu.Lock()
	err = do()
	b.mu.Unlock()
	if after != nil && err == nil {
		err = after(ctx, c)
	}
	return err
}

// Put implements checkpoints.Bucket.
func (b *Bucket) Put(ctx context.Context, key string, o checkpoints.Object, c checkpoints.Condition) (info checkpoints.Info, err error) {
	data := bytes.Join(o.Parts, nil)
	err = b.call(ctx, Call{Op: Put, Key: key, Data: data, Meta: o.Meta, Condition: c}, func() error {
		old, exists := b.objects[key]
		switch {
		case exists && bytes.Equal(old.data, data):
			info = old.info
			return nil
		case exists != (c.ETag != "") || exists && old.info.ETag != c.ETag:
			return checkpoints.ErrConflict
		}
		info = b.set(key, data, o.Meta)
		return nil
	})
	return info, err
}

func (b *Bucket) set(key string, data []byte, meta map[string]string) checkpoints.Info {
	sum := md5.Sum(data)
	info := checkpoints.Info{Key: key, ETag: hex.EncodeToString(sum[:]), Size: int64(len(data)),
		Modified: time.Now(), Meta: maps.Clone(meta)}
	b.objects[key] = object{data: data, info: info}
	return info
}

// Get implements checkpoints.Bucket.
func (b *Bucket) Get(ctx context.Context, key string) (data []byte, info checkpoints.Info, err error) {
	err = b.call(ctx, Call{Op: Get, Key: key}, func() error {
		o, ok := b.objects[key]
		if !ok {
			return checkpoints.ErrNotExist
		}
		data, info = bytes.Clone(o.data), o.info
		return nil
	})
	return data, info, err
}

// Stat implements checkpoints.Bucket.
func (b *Bucket) Stat(ctx context.Context, key string) (info checkpoints.Info, err error) {
	err = b.call(ctx, Call{Op: Stat, Key: key}, func() error {
		o, ok := b.objects[key]
		if !ok {
			return checkpoints.ErrNotExist
		}
		info = o.info
		return nil
	})
	return info, err
}

// List implements checkpoints.Bucket. It yields what is there when it begins.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[checkpoints.Info, error] {
	return func(yield func(checkpoints.Info, error) bool) {
		var found []checkpoints.Info
		err := b.call(ctx, Call{Op: List, Key: prefix}, func() error {
			for _, key := range slices.Sorted(maps.Keys(b.objects)) {
				if strings.HasPrefix(key, prefix) {
					info := b.objects[key].info
					info.Meta = nil
					found = append(found, info)
				}
			}
			return nil
		})
		if err != nil {
			yield(checkpoints.Info{}, err)
			return
		}
		for _, info := range found {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Set stores an object whatever is there, as somebody else's hand would.
func (b *Bucket) Set(key string, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(key, bytes.Clone(data), nil)
}

// Remove removes an object.
func (b *Bucket) Remove(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.objects, key)
}

// Keys returns all keys that begin with prefix, in order.
func (b *Bucket) Keys(prefix string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(b.objects)), func(key string) bool {
		return !strings.HasPrefix(key, prefix)
	})
}

// Data returns a stored object's bytes, nil if there is none.
func (b *Bucket) Data(key string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.objects[key].data)
}

// Calls returns the calls so far of one kind whose key begins with prefix, in
// the order of their beginning.
func (b *Bucket) Calls(op Op, prefix string) []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	var calls []Call
	for _, c := range b.calls {
		if c.Op == op && strings.HasPrefix(c.Key, prefix) {
			calls = append(calls, c)
		}
	}
	return calls
}
