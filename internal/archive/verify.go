package archive

import (
	"context"
	"errors"
	"fmt"

	"flowgraph/checkpoints"
	"flowgraph/internal/recording"
)

// VerifyOptions say what is compared and how.
type VerifyOptions struct {
	// Log is what is read of Kafka; its Progress is set by Verify.
	Log recording.CaptureOptions
	// TopicIDs, by topic, are those of the topics that are read.
	TopicIDs map[string]string
	// Recording is the name of a recording that is read instead, with the
	// offsets as recorded.
	Recording string
	// Schemas, serialized, of collections whose creation neither the log nor
	// the bucket holds.
	Schemas map[int64][]byte
	// Complete: no worker runs and the logs were read to their ends, so that
	// what is not stored is lost.
	Complete    bool
	MaxProblems int    // told in words; 0: 20
	Dir         string // of temporary files
	AtOnce      int    // rows in memory; 0: a million, about 150 MB
	// Progress tells how many records of the log, then how many rows and
	// deletes of the bucket are read, then how many objects are listed; a total
	// of 0 is unknown. It may be nil.
	Progress func(stage string, done, total int64)
}

// Verify reads logs as far as they are retained and the bucket, and tells
// every row that is lost, doubled or altered, every object that is missing or
// does not decode, and every position that contradicts another. Workers may
// run meanwhile: what the documents did not cover when Verify began is not
// missed. Memory is bounded; 46 bytes a row and delete of the log and 37 a
// stored one go to a temporary file. An error means that log or store did not
// answer; what is wrong is in the report.
func Verify(ctx context.Context, b checkpoints.Bucket, o VerifyOptions) (*Report, error) {
	a, err := Open(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	rows, err := newSpool(entrySize, o.Dir)
	if err != nil {
		return nil, err
	}
	items, err := newSpool(itemSize, o.Dir)
	if err != nil {
		return nil, errors.Join(err, rows.close())
	}
	c := newCheck(a, newExpected(rows), CheckOptions{Partial: !o.Complete, MaxProblems: o.MaxProblems})
	c.items = items
	if o.AtOnce > 0 {
		c.atOnce = o.AtOnce
	}
	v := &verification{check: c, o: o}
	err = v.run(ctx, v.readLog, v.logs, v.positions, v.quarantine, v.segments, v.whole, v.match, v.rerouted, v.ddl, v.listings)
	if err = errors.Join(err, rows.close(), items.close()); err != nil {
		return nil, err
	}
	return v.report, nil
}

// verification is one Verify under way.
type verification struct {
	*check
	o VerifyOptions
}

func (v *verification) told(stage string, done, total int64) {
	if v.o.Progress != nil {
		v.o.Progress(stage, done, total)
	}
}

// readLog makes what is expected. The documents are older than the ends of
// the logs, so that nothing that they hold lies beyond.
func (v *verification) readLog(ctx context.Context) error {
	var err error
	if v.o.Recording != "" {
		err = v.readRecording(ctx)
	} else {
		err = v.readKafka(ctx)
	}
	if err != nil {
		return err
	}
	r, want := v.report, v.want
	r.Records, r.Repeated, r.Excluded = want.Records, want.Repeated, want.Excluded
	if v.o.Progress != nil {
		done, total := int64(0), v.stored(ctx)
		v.read = func(rows int64) {
			done += rows
			v.told("stored rows", done, total)
		}
		objects := int64(0)
		v.counted = func() {
			objects++
			v.told("listed objects", objects, 0)
		}
	}
	return want.rows.err
}

// stored is about how many rows and deletes there are to be read. What cannot
// be known now is an error later.
func (v *verification) stored(ctx context.Context) (rows int64) {
	for s, err := range v.archive.Segments(ctx) {
		if err == nil && !v.archive.expired[s.Collection] && v.want.logs[s.VChannel] != nil {
			rows += s.Rows
		}
	}
	return rows
}

func (v *verification) readKafka(ctx context.Context) error {
	o := v.o.Log
	o.Progress = func(done, left int64) { v.told("records", done, done+left) }
	o.Partitions = v.sameLogs(o.Partitions)
	log, err := recording.Dial(ctx, o)
	if err != nil {
		return err
	}
	defer log.Close()
	for topic, ids := range o.Partitions {
		for _, id := range ids {
			span := log.Spans()[checkpoints.VChannel{Topic: topic, Partition: id}.Name()]
			if err := v.begin(ctx, topic, id, span.Start); err != nil {
				return err
			}
			v.want.log(topic, id).end = span.End
		}
	}
	if err := v.want.meet(ctx, v.archive); err != nil {
		return err
	}
	return log.Read(ctx, ctx, func(r recording.Record) error {
		v.want.Add(r)
		return v.want.rows.err
	})
}

// sameLogs leaves out the partitions whose positions are of another log.
func (v *verification) sameLogs(all map[string][]int32) map[string][]int32 {
	same := map[string][]int32{}
	for topic, ids := range all {
		for _, id := range ids {
			name := checkpoints.VChannel{Topic: topic, Partition: id}.Name()
			if doc := v.archive.doc(name); doc != nil && doc.TopicID != v.o.TopicIDs[topic] {
				v.problem("%s: its positions are of topic ID %s, the topic was created anew and has ID %s: nothing of it can be compared (flowgraph accept-log)",
					name, doc.TopicID, v.o.TopicIDs[topic])
				continue
			}
			same[topic] = append(same[topic], id)
		}
	}
	return same
}

func (v *verification) readRecording(ctx context.Context) error {
	// The bounds first: what is not in the recording cannot be compared.
	first, last, all := map[[2]string]recording.Record{}, map[string]int64{}, int64(0)
	for r, err := range Recorded(v.o.Recording) {
		if err != nil {
			return err
		}
		name := checkpoints.VChannel{Topic: r.Topic, Partition: r.Partition}.Name()
		if _, known := last[name]; !known {
			first[[2]string{name, r.Topic}] = recording.Record{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
		}
		last[name] = r.Offset
		all++
	}
	for key, r := range first {
		if err := v.begin(ctx, r.Topic, r.Partition, r.Offset); err != nil {
			return err
		}
		v.want.log(r.Topic, r.Partition).end = checkpoints.After(last[key[0]])
	}
	if err := v.want.meet(ctx, v.archive); err != nil {
		return err
	}
	done := int64(0)
	for r, err := range Recorded(v.o.Recording) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		v.want.Add(r)
		done++
		v.told("records", done, all)
	}
	return v.want.rows.err
}

// begin prepares one log.
func (v *verification) begin(ctx context.Context, topic string, partition int32, start int64) error {
	name := checkpoints.VChannel{Topic: topic, Partition: partition}.Name()
	if err := v.want.resume(ctx, v.archive, v.archive.VChannel(name), topic, partition, start); err != nil {
		return err
	}
	l := v.want.log(topic, partition)
	for id, raw := range v.o.Schemas {
		if c := l.collection(id); c.schema == nil {
			c.given(raw)
		}
	}
	return nil
}

// positions holds the documents' positions against the logs' bounds. A
// recording ends where it was ended; only Kafka tells where a log does.
func (v *verification) positions(ctx context.Context) error {
	for _, ch := range v.archive.vchannels {
		l := v.want.logs[ch.Name]
		if l == nil || ch.Doc == nil || v.o.Recording != "" {
			continue
		}
		if ch.Doc.Seek.Offset > l.end || ch.Doc.ReadFrom.Offset > l.end {
			v.problem("%s: it reads from %d, its seek position is %d, and the log ends at %d", ch.Name, ch.Doc.ReadFrom.Offset, ch.Doc.Seek.Offset, l.end)
		}
		for _, s := range ch.Doc.Segments {
			if end := ch.Doc.EndOf(s).Offset; end > l.end {
				v.problem("segment %d of %d/%d: it ends at %d, %s ends at %d", s.ID, s.Collection, s.Partition, end, ch.Name, l.end)
			}
		}
		if err := v.gap(ctx, ch, l); err != nil {
			return err
		}
	}
	return nil
}

// gap tells of records that were deleted before they were stored.
func (v *verification) gap(ctx context.Context, ch *VChannel, l *expectedLog) error {
	if ch.Doc.Seek.Offset >= l.first {
		return nil
	}
	ok, err := v.moved(ctx, ch.Name, func(d *checkpoints.Document) bool { return d.Seek.Offset >= l.first })
	if err == nil && !ok {
		v.problem("%s: the log begins at %d now, and offsets from %d on are not stored: unless a worker has them in memory they are lost", ch.Name, l.first, ch.Doc.Seek.Offset)
	}
	return err
}
