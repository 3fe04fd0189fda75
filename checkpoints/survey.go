package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Survey is what the manifests of a bucket say of each log, as far as
// documents are held against it. Its memory grows with places, not with
// segments.
type Survey struct {
	number uint64
	mu     sync.Mutex
	logs   map[logOf]*surveyed
}

type logOf struct{ vchannel, topicID string }

// kindOf is what ends are compared of: the segments of one place and level
// whose IDs came from the same side, in one generation of the log.
type kindOf struct {
	collection, partition int64
	level                 Level
	auto                  bool
	generation            int
}

type surveyed struct {
	manifests int64
	furthest  map[kindOf]Sealed // by End
	newest    Sealed            // by Epoch
}

// surveyAtOnce bounds the keys in memory.
const surveyAtOnce = 4096

func newSurvey(ctx context.Context, b Bucket, number uint64) (*Survey, error) {
	s := &Survey{number: number, logs: map[logOf]*surveyed{}}
	var refs []SegmentRef
	read := func() error {
		defer func() { refs = refs[:0] }()
		return parallel(ctx, lookups, len(refs), func(ctx context.Context, i int) error { return s.read(ctx, b, refs[i]) })
	}
	for info, err := range b.List(ctx, ManifestPrefix) {
		if err != nil {
			return nil, fmt.Errorf("survey: %w", err)
		}
		if r, chunk, ok := ParseManifestKey(info.Key); ok && chunk == "" {
			refs = append(refs, r)
		}
		if len(refs) == surveyAtOnce {
			if err := read(); err != nil {
				return nil, fmt.Errorf("survey: %w", err)
			}
		}
	}
	if err := read(); err != nil {
		return nil, fmt.Errorf("survey: %w", err)
	}
	return s, nil
}

// read adds one manifest. What is damaged says nothing here; whoever needs it
// is stopped by it.
func (s *Survey) read(ctx context.Context, b Bucket, r SegmentRef) error {
	m, err := LoadManifest(ctx, b, r)
	if errors.Is(err, ErrNotExist) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrNewerVersion) {
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := logOf{m.VChannel, m.TopicID}
	if s.logs[key] == nil {
		s.logs[key] = &surveyed{furthest: map[kindOf]Sealed{}}
	}
	s.logs[key].add(m.Sealed())
	return nil
}

func (l *surveyed) add(m Sealed) {
	l.manifests++
	k := kindOf{m.Collection, m.Partition, m.Level, m.Auto, m.Generation}
	if old, ok := l.furthest[k]; !ok || m.End.Offset > old.End.Offset {
		l.furthest[k] = m
	}
	if m.Epoch > l.newest.Epoch {
		l.newest = m
	}
}

// ahead says why d cannot have seen what was surveyed; "" if nothing tells.
func (s *Survey) ahead(d *Document) string {
	l := s.logs[logOf{d.VChannel, d.TopicID}]
	if l == nil {
		return ""
	}
	if l.newest.Epoch > d.lastEpoch() {
		return d.Ahead(l.newest)
	}
	for _, m := range l.furthest {
		if why := d.Ahead(m); why != "" {
			return why
		}
	}
	return ""
}

// manifests is how many of d's log there are.
func (s *Survey) manifests(d *Document) int64 {
	if l := s.logs[logOf{d.VChannel, d.TopicID}]; l != nil {
		return l.manifests
	}
	return 0
}

// Surveyor makes surveys of a bucket, one at a time: what many flows ask at
// once, as all of a worker do whose bucket was moved, is answered by one.
type Surveyor struct {
	bucket Bucket
	turn   chan struct{}

	mu    sync.Mutex
	begun uint64
	last  *Survey // kept for those that asked before it began
	asked int
}

// NewSurveyor returns one that has surveyed nothing yet.
func NewSurveyor(b Bucket) *Surveyor {
	return &Surveyor{bucket: b, turn: make(chan struct{}, 1)}
}

// Asking is one claim's right to a survey that begins after it asked.
type Asking struct {
	surveyor *Surveyor
	after    uint64
}

// Ask begins the time of an Asking, which Done ends.
func (s *Surveyor) Ask() *Asking {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return &Asking{s, s.begun}
}

// Done lets the survey go that nobody wants any more.
func (a *Asking) Done() {
	s := a.surveyor
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked--; s.asked == 0 {
		s.last = nil
	}
}

// Survey returns a survey that began after Ask, made now if there is none. An
// older one may lack what a copy or a document put back has brought since.
func (a *Asking) Survey(ctx context.Context) (*Survey, error) {
	s := a.surveyor
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	if s.last != nil && s.last.number > a.after {
		defer s.mu.Unlock()
		return s.last, nil
	}
	s.begun++
	number := s.begun
	s.mu.Unlock()
	made, err := newSurvey(ctx, s.bucket, number)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = made
	return made, nil
}
