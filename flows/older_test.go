package flows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
)

// place is a bucket that knows where it is.
type place struct {
	*membucket.Bucket
	home string
}

func (p place) Home() string { return p.home }

// older is a world whose log grows by rounds.
type older struct {
	*world
	round int64
	end   int64
}

func newOlder(t *testing.T) *older {
	o := &older{world: newWorld(t, 1)}
	o.write(createCollection(collectionID))
	return o
}

func (o *older) write(values ...[]byte) {
	o.t.Helper()
	o.produce(0, values...)
	o.end += int64(len(values))
}

// atOnce flushes and commits whatever there is, so that documents tell of much
// that another one does not.
func flushAtOnce(c *Config) { c.Limits.FlushBytes, c.Limits.FlushDeleteBytes = 1, 1 }

// rounds writes rows for segments with and without an ID, deletes and DDL, and
// has them sealed in every second round.
func (o *older) rounds(l *life, n int) {
	o.t.Helper()
	for range n {
		o.round++
		key := 1000 * o.round
		o.write(slices.Concat(inserts(6+o.round/3, key, 3, 10), inserts(0, key+10, 3, 10), [][]byte{
			deleteKey(key), createCollection(collectionID + o.round), insertInto(collectionID+o.round, 500+o.round, key+20, 10),
		})...)
		l.until(0, o.end)
		if o.round%2 == 0 {
			if _, err := l.Seal(within(o.t), Selector{All: true}, true); err != nil {
				o.t.Fatal(err)
			}
		}
	}
}

// copyInto copies what lies under a prefix, with its metadata.
func copyInto(t *testing.T, from, to *membucket.Bucket, prefix string) {
	t.Helper()
	for _, key := range from.Keys(prefix) {
		data, info, err := from.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		to.Remove(key)
		if _, err := to.Put(t.Context(), key, checkpoints.Object{Parts: [][]byte{data}, Meta: info.Meta}, checkpoints.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
}

// putBack replaces the document by an older version.
func (o *older) putBack(version []byte) {
	o.bucket.Set(checkpoints.DocumentKey(vchannel(0)), version)
}

func (o *older) version() []byte { return o.bucket.Data(checkpoints.DocumentKey(vchannel(0))) }

// refuses starts a worker, which must stop with the error and write nothing.
func (o *older) refuses(home string, want error) {
	o.t.Helper()
	keys, document := o.bucket.Keys(""), string(o.version())
	l := o.startOn(place{o.bucket, home}, eager, flushAtOnce)
	s := l.has(0, "stopped")
	if failure := l.parts[partition{topic, 0}].failure.Load(); failure == nil || !errors.Is(*failure, want) {
		o.t.Errorf("it stopped for another reason: %s", s.Error)
	}
	if !strings.Contains(s.Error, checkpoints.DocumentKey(vchannel(0))) || !strings.Contains(s.Advice, "accept-document") {
		o.t.Errorf("neither document nor way out are named: %s; %s", s.Error, s.Advice)
	}
	l.kill()
	if !slices.Equal(keys, o.bucket.Keys("")) || document != string(o.version()) {
		o.t.Error("it has written all the same")
	}
}

// goesOn starts a worker that reads to the end, and compares all.
func (o *older) goesOn(home string) {
	o.t.Helper()
	l := o.startOn(place{o.bucket, home}, eager, flushAtOnce).until(0, o.end)
	o.rounds(l, 2)
	l.stop()
	o.exact(archive.CheckOptions{})
}

// remover removes until it is killed.
type remover struct {
	bucket *membucket.Bucket
	left   int // removals; below 0: all; a command runs some at a time
	mu     sync.Mutex
}

var errKilledHere = errors.New("killed between two removals")

func (r *remover) Remove(_ context.Context, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == 0 {
		return errKilledHere
	}
	r.left--
	r.bucket.Remove(key)
	return nil
}

// accept is the command.
func (o *older) accept(home string, r *remover) (*archive.Ahead, error) {
	o.t.Helper()
	d := o.document(0)
	a, err := archive.FindAhead(o.t.Context(), o.bucket, d)
	if err != nil {
		o.t.Fatal(err)
	}
	_, err = a.Accept(o.t.Context(), o.bucket, r, checkpoints.VChannel{Topic: d.Topic, Partition: d.Partition, TopicID: d.TopicID}, home)
	return a, err
}

// copied is a copy with the documents of now and the rest of after the rounds.
func (o *older) copied(l *life, rounds int) *membucket.Bucket {
	o.t.Helper()
	replica := membucket.New()
	copyInto(o.t, o.bucket, replica, checkpoints.DocumentPrefix)
	o.rounds(l, rounds)
	for _, prefix := range []string{"ddl/", "delta_log/", "insert_log/", "quarantine/", checkpoints.ManifestPrefix, "stats_log/"} {
		copyInto(o.t, o.bucket, replica, prefix)
	}
	return replica
}

// A copy whose documents were copied first, and the rest while the worker went
// on, is ahead of its documents. The command may be killed at any place.
func TestACopyTakenWhileAWorkerRunsDoublesRows(t *testing.T) {
	for _, part := range []int{0, 6, 10} { // tenths of the removals, before the kill
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			o := newOlder(t)
			l := o.startOn(place{o.bucket, "here/archive/files"}, eager, flushAtOnce)
			o.rounds(l, 3)
			replica := o.copied(l, 2)
			l.stop()
			o.exact(archive.CheckOptions{})
			o.bucket = replica
			const there = "there/archive/files"
			o.refuses(there, checkpoints.ErrOlder)
			a, err := archive.FindAhead(t.Context(), o.bucket, o.document(0))
			if err != nil {
				t.Fatal(err)
			}
			if part < 10 {
				n := (len(a.Manifests) + len(a.Events) + len(a.Compounds)) * part / 10
				if _, err := o.accept(there, &remover{bucket: o.bucket, left: n}); !errors.Is(err, errKilledHere) {
					t.Fatalf("killed before removal %d: %v", n, err)
				}
				o.refuses(there, checkpoints.ErrOlder)
			}
			if _, err := o.accept(there, &remover{bucket: o.bucket, left: -1}); err != nil {
				t.Fatal(err)
			}
			o.goesOn(there)
		})
	}
}

// An earlier version of the document, put back in its place, from every moment
// of two lives.
func TestAnOlderDocumentPutBackDoublesRows(t *testing.T) {
	for _, back := range []int{0, 2, 3} {
		t.Run(fmt.Sprint(back), func(t *testing.T) {
			o := newOlder(t)
			var versions [][]byte
			for range 2 {
				l := o.startOn(place{o.bucket, "here"}, eager, flushAtOnce)
				for range 2 {
					o.rounds(l, 1)
					versions = append(versions, o.version())
				}
				l.stop()
			}
			if back == len(versions)-1 {
				versions[back] = o.version()
				o.putBack(versions[back])
				o.goesOn("here")
				return
			}
			o.putBack(versions[back])
			o.refuses("here", checkpoints.ErrOlder)
			a, err := o.accept("here", &remover{bucket: o.bucket, left: -1})
			if err != nil || a.Nothing() {
				t.Fatalf("accept: %+v, %v", a, err)
			}
			o.goesOn("here")
		})
	}
}

// looks is how often the manifests of all vchannels were listed.
func (o *older) looks() int { return len(o.bucket.Calls(membucket.List, checkpoints.ManifestPrefix)) }

// What only looks like an older document costs one look, and goes on: a bucket
// that was moved, a group whose offset another program has set, a log that was
// created anew. A rewind, which knows what it left, costs none.
func TestWhatLooksLikeAnOlderDocumentIsRefused(t *testing.T) {
	o := newOlder(t)
	l := o.startOn(place{o.bucket, "here"}, eager, flushAtOnce)
	o.rounds(l, 4)
	l.stop()
	o.exact(archive.CheckOptions{})
	again := func(home string, want int) {
		t.Helper()
		looks := o.looks()
		o.startOn(place{o.bucket, home}, eager, flushAtOnce).until(0, o.end).stop()
		if n := o.looks() - looks; n != want {
			t.Errorf("%s: %d looks, want %d", home, n, want)
		}
		o.exact(archive.CheckOptions{})
	}
	again("here", 0)
	again("moved", 1)
	again("moved", 0)
	v := checkpoints.VChannel{Topic: topic, TopicID: o.document(0).TopicID}
	if _, err := checkpoints.Rewind(t.Context(), o.bucket, v, checkpoints.Position{LeaderEpoch: -1}); err != nil {
		t.Fatal(err)
	}
	again("moved", 0)
	o.commitGroup(o.end + 100)
	o.write(insert(99, 99, 10))
	again("moved", 1)
	again("moved", 0)

	o.remove(topic)
	o.create(topic, 1)
	o.forget()
	o.dial()
	o.end = 0
	o.write(createCollection(collectionID+50), insertInto(collectionID+50, 900, 1_000_000, 10))
	o.commitGroup(1000)
	looks := o.looks()
	l = o.startOn(place{o.bucket, "moved"}, eager, flushAtOnce)
	l.has(0, "stopped")
	l.kill()
	if n := o.looks() - looks; n != 0 {
		t.Errorf("%d looks at a document of another log", n)
	}
	l2, err := DescribeLog(t.Context(), []kgo.Opt{kgo.SeedBrokers(o.addr)}, topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoints.AcceptLog(t.Context(), o.bucket, l2.VChannel, l2.Start, nil); err != nil {
		t.Fatal(err)
	}
	looks = o.looks()
	o.startOn(place{o.bucket, "moved"}, eager, flushAtOnce).until(0, o.end).stop()
	if n := o.looks() - looks; n != 1 {
		t.Errorf("%d looks at a document of a log that the group has passed", n)
	}
	if d := o.document(0); d.Home != "moved" || *d.Manifests != 0 {
		t.Errorf("home %s, %d manifests", d.Home, *d.Manifests)
	}
}

// commitGroup sets the offset of the worker's group, as any program may.
func (o *older) commitGroup(offset int64) {
	o.t.Helper()
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, offset, -1)
	r, err := o.admin().CommitOffsets(o.t.Context(), "flowgraph", offsets)
	if err == nil {
		err = r.Error()
	}
	if err != nil {
		o.t.Fatal(err)
	}
}
