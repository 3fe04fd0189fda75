package stages

// Request is what somebody wants of the buffer besides what its policies
// decide. It comes with a batch without records, and so at a pack's end: its
// cuts are ordinary ones.
type Request struct {
	Seal       bool  // no further row for what is open; else what is buffered is flushed
	Collection int64 // 0: all collections
}

func (r *Request) wants(s *segment) bool {
	return r.Collection == 0 || r.Collection == s.meta.Collection
}

// request obeys what came with the pack. A seal is remembered where the rules
// hold it back, and made once reading has passed.
func (b *Buffer) request(r *Request) {
	if r == nil {
		return
	}
	if r.Seal {
		for _, s := range b.open {
			if r.wants(s) && !s.unwanted {
				s.unwanted = true
				b.unwanted++
			}
		}
		return
	}
	for s := b.buffered.head; s != nil; {
		next := s.next
		if r.wants(s) {
			b.cut(s, Requested, false)
		}
		s = next
	}
}

// sealRequested seals what somebody wants sealed and may be by now. It is a
// wish of this life: after a restart it has to be asked for again.
func (b *Buffer) sealRequested() {
	if b.unwanted == 0 {
		return
	}
	b.sealAll(Sealed, func(s *segment) bool { return s.unwanted && b.mayBeSealed(s) })
}

// Unsealed is how many segments wait for a seal that was requested: their
// partitions' rows up to some offset may be in other segments already, and
// reading has not passed it yet.
func (b *Buffer) Unsealed() int { return b.unwanted }
