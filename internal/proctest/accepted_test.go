//go:build unix

package proctest

import (
	"fmt"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/traffic"
)

// What the commands that accept something find is made here: a document that
// is older than the bucket, and a log that has lost its end.

func (b *bounds) document() *checkpoints.Document {
	b.t.Helper()
	doc, _, err := checkpoints.Load(b.t.Context(), b.bucket("files"), firstTopic+"-0")
	if err != nil {
		b.t.Fatal(err)
	}
	return doc
}

func (b *bounds) ahead() *archive.Ahead {
	b.t.Helper()
	return must(archive.FindAhead(b.t.Context(), b.bucket("files"), b.document()))
}

// older puts back the first document that there was, of which something of
// every kind is ahead.
func (b *bounds) older() {
	b.t.Helper()
	b.stores()
	last := b.document()
	data, err := (&checkpoints.Document{
		Version: checkpoints.Version, VChannel: last.VChannel, Topic: last.Topic, Partition: last.Partition, TopicID: last.TopicID,
		Epoch: 1, Owner: last.Owner, Home: last.Home, Manifests: new(int64), ReadFrom: checkpoints.Position{LeaderEpoch: -1},
		Seek: checkpoints.Position{LeaderEpoch: -1}, Collections: map[int64]*checkpoints.Collection{}, Segments: map[int64]*checkpoints.Segment{},
	}).Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	must(checkpoints.Replace(b.t.Context(), b.bucket("files"), checkpoints.DocumentKey(last.VChannel), checkpoints.Object{Parts: [][]byte{data}}))
	if a := b.ahead(); len(a.Manifests) == 0 || len(a.Events) == 0 || len(a.Compounds) == 0 {
		b.t.Errorf("a kind is not ahead, nobody is seen to remove it: %+v", a)
	}
}

// agrees holds that nothing is ahead of the document, and that this is done.
func (b *bounds) agrees() {
	b.t.Helper()
	if a := b.ahead(); !a.Nothing() || b.document().Unsettled != 0 {
		b.t.Errorf("it still lies ahead: %+v", a)
	}
}

// cutBack lets the broker lose records that are stored.
func (b *bounds) cutBack() {
	b.t.Helper()
	kept := b.logSize(firstTopic)
	cfg := traffic.Default(options.seed, 0)
	cfg.Logs = []traffic.Log{{Topic: firstTopic}}
	if err := traffic.Send(b.t.Context(), b.t.Context(), traffic.New(cfg), traffic.Sending{Client: past(b.broker(), b.told), Records: 100}); err != nil {
		b.t.Fatal(err)
	}
	b.stores()
	b.loseEnd(firstTopic, kept)
}

func (b *bounds) goesOn() {
	b.t.Helper()
	if d := b.document(); d.Generation() != 1 {
		b.t.Errorf("no cut was accepted: %+v", d.CutBacks)
	}
}

// stores runs a worker that may do all to the end of the first topic.
func (b *bounds) stores() {
	b.t.Helper()
	b.runs++
	spawn(b.t, b.dir, fmt.Sprintf("owner-%d", b.runs), binary(), "run", "--until-end", "--listen=", "--memory-budget=64MiB",
		"--topics="+firstTopic+":0", "--brokers="+b.broker(), "--s3-endpoint="+b.store(), "--s3-bucket="+bucketName,
		"--s3-access-key="+access, "--s3-secret-key="+access).exits(0)
}
