package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
)

// olds are the versions that the documents had.
type olds struct {
	putBack  bool // no life has gone on since
	versions [][]byte
	told     checkpoints.Told // of the last of them
}

// keep notes a version, and what Kafka's group may have been told.
func (w *world) keep(_ context.Context, c membucket.Call) error {
	if c.Op != membucket.Put || c.Key != checkpoints.DocumentKey(topic+"-0") {
		return nil
	}
	d, err := checkpoints.Decode(topic+"-0", c.Data)
	if err != nil {
		w.fail("%v", err)
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.olds.versions = append(w.olds.versions, c.Data)
	w.olds.told = checkpoints.Told{Seek: d.Seek, Epoch: d.Epoch, Sequence: d.Sequence}
	return nil
}

// group is what the workers' group was told: all, at once.
func (w *world) group(context.Context) (checkpoints.Told, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.olds.told, nil
}

// putBack ends all workers and puts the n-th last version of the document in
// the place of the last.
func (w *world) putBack(n int) {
	key := checkpoints.DocumentKey(w.script.vchannel().Name())
	now, err := checkpoints.Decode(w.script.vchannel().Name(), w.bucket.Data(key))
	if err != nil {
		w.fail("%v", err)
		return
	}
	for _, l := range w.all {
		l.die()
		<-l.ended
	}
	w.mu.Lock()
	w.current = nil
	list := slices.DeleteFunc(slices.Clone(w.olds.versions), func(data []byte) bool {
		d, err := checkpoints.Decode(topic+"-0", data)
		return err != nil || d.TopicID != now.TopicID || d.Generation() != now.Generation()
	})
	// What came after it is given up for ever: its files are taken away.
	list = list[:max(1, len(list)-n)]
	w.olds.versions, w.olds.putBack = list, true
	w.mu.Unlock()
	back := list[len(list)-1]
	w.bucket.Set(key, back)
	w.tell("version %d is put back: %s", len(list), back)
}

// refused is what an operator does whose worker says that the document is older
// than what lies around it.
func (w *world) refused() {
	if !w.olds.putBack {
		w.fail("refused, and nobody has put back an older document")
		return
	}
	w.acceptDocument()
}

// acceptDocument is the operator's command, first broken off at each of its
// calls, before and after that took effect. Until it ends no life goes on.
func (w *world) acceptDocument() {
	v := w.script.vchannel()
	for calls := range 10_000 {
		for _, effect := range []bool{false, true} {
			b := &brokenOff{Bucket: w.bucket, left: calls, effect: effect}
			d, _, err := checkpoints.Load(context.Background(), w.bucket, v.Name())
			if err != nil {
				w.fail("accept-document: %v", err)
				return
			}
			a, err := archive.FindAhead(context.Background(), b, d)
			if err == nil {
				_, err = a.Accept(context.Background(), b, brokenRemover{b, w.bucket}, v, "")
			}
			if errors.Is(err, errBroken) {
				continue
			}
			if err != nil {
				w.fail("accept-document: %v", err)
			}
			w.tell("accept-document was broken off at each of %d calls", calls)
			return
		}
	}
	w.fail("accept-document does not come to an end")
}

type brokenRemover struct {
	calls  *brokenOff
	bucket *membucket.Bucket
}

func (r brokenRemover) Remove(_ context.Context, key string) error {
	made, broken := r.calls.call()
	if made {
		r.bucket.Remove(key)
	}
	return broken
}

// A worker goes on from any version of its document that is put back, if it is
// told so, and from none that is older than what lies around it unless it is.
func TestRandomHistoriesOfOlderDocuments(t *testing.T) {
	rows, accepted, lives := int64(0), 0, 0
	for i := range max(1, *histories/3) {
		n := *seed + uint64(i)
		lines := strings.Split(newHistory(n, false), "\n")
		rng := rand.New(rand.NewPCG(n, 1))
		for range 1 + rng.IntN(3) {
			at := 3 + rng.IntN(len(lines)-3)
			lines = slices.Insert(lines, at, fmt.Sprintf("put-back %d", rng.IntN(1+rng.IntN(30))))
		}
		text := strings.Join(lines, "\n")
		s, err := parse(fmt.Sprintf("history %d", n), text)
		if err != nil {
			t.Fatal(err)
		}
		w := s.run(t, replays[n%3], chance(n, 6))
		rows, lives, accepted = rows+s.last().expect.Rows+s.last().expect.Deletes, lives+len(w.all), accepted+strings.Count(w.text(), "accept-document was")
		if w.failure != "" {
			t.Fatalf("history %d:\n%s\n\n%s\n%s\nto repeat it:\n  go test ./internal/explore -run '%s$' -args -histories 3 -seed %d",
				n, text, w.text(), w.failure, t.Name(), n)
		}
	}
	t.Logf("%d lives, %d older documents accepted: %d rows and deletes compared, lost 0, doubled 0", lives, accepted, rows)
	if *histories >= 300 && accepted == 0 {
		t.Error("no document that was put back was older than what lay around it")
	}
}
