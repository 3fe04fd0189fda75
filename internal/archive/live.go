package archive

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"flowgraph/checkpoints"
)

// LiveOptions say which rows are asked for.
type LiveOptions struct {
	Collection string   // name, or ID in decimal
	Partitions []string // names or IDs; none: all
	Until      uint64   // hybrid timestamp; 0: what the archive is complete up to
	// Unique leaves of several live rows of one key in a partition the one
	// with the smallest timestamp, which is what a query of Milvus answers.
	Unique bool
}

// Live is the live rows of one collection at a moment: inserted rows with a
// timestamp up to it, less those whose key has a later delete up to it in
// their vchannel and partition, less what was dropped by then. It holds, for
// every key deleted, when last; rows are read one flush at a time.
type Live struct {
	Collection int64
	Name       string
	Until      uint64 // the moment, a hybrid timestamp
	// Complete is the moment up to which every row and delete is in the
	// archive; 0 if no time tick was read. Behind it Live may lack some.
	Complete uint64
	// Since is not 0 if the log begins later than the collection: rows up to
	// then are not in the archive.
	Since      uint64
	Raw        []byte      // serialized schema in force at the moment
	Fields     []LiveField // RowID and Timestamp first, then by ID
	Partitions []*LivePartition
	VChannels  []string

	archive *Archive
	key     int // of Fields
	deletes deletes
	unique  bool
	made    int // partitions
}

// LivePartition is one partition that is alive at the moment.
type LivePartition struct {
	ID       int64
	Name     string // "" if unknown
	Stored   int64  // rows to read, live or not
	Segments []*LiveSegment
}

// LiveSegment is a segment with those of its flushes that may hold rows up to
// the moment, oldest first.
type LiveSegment struct {
	*Segment
	Flushes []checkpoints.Log
	again   resent // nil: it has no row that counts elsewhere
}

// Live finds the collection, its schema and partitions at the moment and
// reads its deletes. ErrNoCollection if there is no such collection then.
func (a *Archive) Live(ctx context.Context, o LiveOptions) (*Live, error) {
	lives, err := a.lifetimes(ctx)
	if err != nil {
		return nil, err
	}
	life, moment, err := a.pick(lives, o.Collection, o.Until)
	if err != nil {
		return nil, err
	}
	if a.expired[life.id] {
		return nil, noCollection("collection %s has expired: its data was removed by gc, no moment of it can be brought back", life.describe())
	}
	l := &Live{
		Collection: life.id, Name: at(life.names, moment), Until: moment, Complete: a.complete(life), Since: life.since,
		Raw: at(life.schemas, moment), VChannels: slices.Sorted(slices.Values(life.vchannels)), archive: a, unique: o.Unique, made: len(life.partitions),
	}
	if err := l.readSchema(); err != nil {
		return nil, err
	}
	segments, err := l.segments(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.place(life, segments, o.Partitions); err != nil {
		return nil, err
	}
	for _, p := range l.Partitions {
		if err := l.resend(ctx, p); err != nil {
			return nil, err
		}
	}
	return l, l.readDeletes(ctx, segments)
}

// segments are the collection's with the flushes that begin by the moment.
func (l *Live) segments(ctx context.Context) ([]*LiveSegment, error) {
	read := func(ctx context.Context, s *Segment) (*LiveSegment, error) {
		logs, _, err := l.archive.Logs(ctx, s)
		if err != nil {
			return nil, err
		}
		logs = slices.DeleteFunc(logs, func(f checkpoints.Log) bool { return f.MinTS > l.Until })
		s.Logs = nil // they are in logs
		return &LiveSegment{Segment: s, Flushes: logs}, nil
	}
	var list []*LiveSegment
	for s, err := range ordered(ctx, gets, l.archive.segmentsOf(ctx, l.Collection), read) {
		if err != nil {
			return nil, err
		}
		if len(s.Flushes) > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(x, y *LiveSegment) int {
		return cmp.Or(cmp.Compare(x.VChannel, y.VChannel), cmp.Compare(x.TopicID, y.TopicID),
			cmp.Compare(x.Start.Offset, y.Start.Offset), cmp.Compare(x.ID, y.ID))
	})
	return list, nil
}

// place makes the partitions that are alive at the moment, of those asked for.
func (l *Live) place(life *lifetime, segments []*LiveSegment, only []string) error {
	parts := map[int64]*LivePartition{}
	for id, p := range life.partitions {
		if p.created <= l.Until && l.Until < p.dropped {
			parts[id] = &LivePartition{ID: id, Name: p.name}
		}
	}
	for _, s := range segments {
		p := parts[s.Partition]
		if p == nil && s.Level == checkpoints.L1 && life.partitions[s.Partition] == nil { // nothing but its rows tells of it
			p = &LivePartition{ID: s.Partition}
			parts[s.Partition] = p
		}
		if p != nil && s.Level == checkpoints.L1 {
			p.Segments = append(p.Segments, s)
			for _, f := range s.Flushes {
				p.Stored += f.Rows
			}
		}
	}
	l.Partitions = slices.SortedFunc(maps.Values(parts), func(x, y *LivePartition) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID))
	})
	l.Partitions = slices.DeleteFunc(l.Partitions, func(p *LivePartition) bool {
		return p.Stored == 0 && life.partition(p.ID).created == 0 && l.another(p)
	})
	return l.choose(only)
}

// another says whether a partition without rows, of which no creation is
// known, was made anew under the name of one that was alive before it.
func (l *Live) another(p *LivePartition) bool {
	return slices.ContainsFunc(l.Partitions, func(q *LivePartition) bool { return q != p && q.Name == p.Name && q.ID < p.ID })
}

func (l *Live) choose(only []string) error {
	if len(only) == 0 {
		return nil
	}
	chosen := map[*LivePartition]bool{}
	for _, want := range only {
		found := false
		for _, p := range l.Partitions {
			if p.Name == want || strconv.FormatInt(p.ID, 10) == want {
				chosen[p], found = true, true
			}
		}
		if !found {
			return noCollection("collection %s has no partition %s at that moment, only %s", l.Name, want, l.partitionNames())
		}
	}
	l.Partitions = slices.DeleteFunc(l.Partitions, func(p *LivePartition) bool { return !chosen[p] })
	return nil
}

func (l *Live) partitionNames() string {
	var names []string
	for _, p := range l.Partitions {
		names = append(names, cmp.Or(p.Name, strconv.FormatInt(p.ID, 10)))
	}
	return strings.Join(names, ", ")
}

// segmentsOf yields the segments of one collection.
func (a *Archive) segmentsOf(ctx context.Context, collection int64) iter.Seq2[*Segment, error] {
	return a.segments(ctx, fmt.Sprintf("%s%d/", checkpoints.ManifestPrefix, collection), func(id int64) bool { return id == collection })
}
