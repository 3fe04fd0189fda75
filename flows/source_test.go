package flows

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// emitted is a batch and when it came.
type emitted struct {
	raw *stages.Raw
	at  time.Duration
}

// listen starts a source on a mailbox and notes what it emits.
func listen(t *testing.T, m *Mailbox, enough int64) (got func() []emitted, end func()) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &source{
		ctx: ctx, fail: cancel, stop: t.Context(), mailbox: m, until: -1, enough: enough, out: make(chan any),
		same: func(context.Context, checkpoints.Position, int32) error { return nil },
	}
	begun, done := time.Now(), make(chan struct{})
	var mu sync.Mutex
	var all []emitted
	go s.run()
	go func() {
		defer close(done)
		for raw := range s.out {
			mu.Lock()
			all = append(all, emitted{raw.(*stages.Raw), time.Since(begun)})
			mu.Unlock()
		}
	}()
	got = func() []emitted {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
	return got, func() {
		cancel(nil)
		<-done
	}
}

// single is a batch of one record of so many bytes.
func single(slabs *stages.Slabs, offset int64, size int) *stages.Raw {
	raw := slabs.Raw(1)
	raw.Add(stages.Record{Offset: offset, Value: bytes.Repeat([]byte{7}, size)})
	raw.AddHeader("h", fmt.Append(nil, offset))
	raw.Bytes = int64(size)
	return raw
}

// Five time ticks a second in every partition would be five walks through all
// stages: they are one, and nothing else waits for it.
func TestAPartitionOfTicksIsWalkedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, slabs := newMailbox(&Account{budget: NewBudget(1 << 30)}), &stages.Slabs{}
		got, end := listen(t, m, littleBytes)
		next := int64(0)
		put := func(size int) (fetched []byte) {
			raw := single(slabs, next, size)
			fetched = raw.Records[0].Value
			m.Put(raw)
			next++
			return fetched
		}
		time.Sleep(2500 * time.Millisecond) // two Idle batches
		for i := range 50 {
			if fetched := put(20); i > 0 {
				clear(fetched) // what waits holds nothing back
			}
			time.Sleep(190 * time.Millisecond)
		}
		synctest.Wait()
		if n := len(got()) - 2; n > 11 {
			t.Errorf("50 ticks in ten seconds are %d batches", n)
		}
		if first := got()[2]; len(first.raw.Records) != 1 || first.at != 2500*time.Millisecond {
			t.Errorf("the first after a silence is one of %d, handed on after %s", len(first.raw.Records), first.at)
		}
		time.Sleep(time.Second) // the last of them
		for _, size := range []int{20, 20, littleBytes, 20} {
			put(size)
		}
		if _, err := m.Request(stages.Request{}); err != nil {
			t.Fatal(err)
		}
		before := len(got())
		synctest.Wait()
		since := got()[before:]
		if len(since) == 0 || since[len(since)-1].raw.Request == nil || since[len(since)-1].at != since[0].at {
			t.Errorf("much, or a request, is waited for: %v", since)
		}
		end()
		offset := int64(0)
		for _, e := range got() {
			for _, r := range e.raw.Records {
				if r.Offset != offset || len(r.Headers) != 1 || string(r.Headers[0].Value) != fmt.Sprint(offset) {
					t.Fatalf("%d with %v where %d was due", r.Offset, r.Headers, offset)
				}
				if bytes.Count(r.Value, []byte{7}) != len(r.Value) {
					t.Fatalf("record %d was changed while it waited", offset)
				}
				offset++
			}
		}
		if offset != next {
			t.Errorf("%d of %d records came", offset, next)
		}
		m.account.close()
	})
}

// What is read to its end has no time to wait, and batches of two leaders are
// not one: where a leader begins is compared with the log.
func TestBatchesAreNotJoinedWhereThatWouldHide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, slabs := newMailbox(&Account{budget: NewBudget(1 << 30)}), &stages.Slabs{}
		got, end := listen(t, m, 0)
		for offset := range int64(3) {
			m.Put(single(slabs, offset, 20))
			synctest.Wait()
			if len(got()) != int(offset)+1 {
				t.Errorf("record %d waits", offset)
			}
		}
		end()
		m = newMailbox(&Account{budget: NewBudget(1 << 30)})
		second := single(slabs, 1, 20)
		second.Records[0].LeaderEpoch = 1
		m.Put(single(slabs, 0, 20))
		m.Put(second)
		if one := m.take(0); len(one.Records) != 1 {
			t.Error("records of two leaders are one batch")
		}
	})
}
