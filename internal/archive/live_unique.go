package archive

import (
	"context"
	"hash/maphash"
)

// choice says for every key of which there are several live rows which one a
// query of Milvus answers: the one with the smallest timestamp, and of those
// the smallest row ID. It costs two bytes a row of the partition and an entry
// for each such key and for about one in ten others.
type choice struct {
	best map[keyOf]rowOf
}

// keyOf is a key where it is unique: a key is always in the same vchannel.
type keyOf struct {
	vchannel string
	key      string
}

// rowOf tells rows of one key apart.
type rowOf struct {
	timestamp uint64
	id        int64
	known     bool
}

func (r rowOf) before(o rowOf) bool {
	return !o.known || r.timestamp < o.timestamp || r.timestamp == o.timestamp && r.id < o.id
}

// is tells whether a live row is the one.
func (c choice) is(vchannel string, key []byte, r Row) bool {
	best, several := c.best[keyOf{vchannel, string(key)}]
	return !several || best == rowOf{r.Timestamp, r.ID, true}
}

// bitsPerRow of the table in which keys are marked as seen: the fewer bits,
// the more keys are taken for ones that come twice.
const bitsPerRow = 16

// chooseRows reads the keys of the partition twice: first for those that come
// more than once, by a table of hashes, then for the best row of each.
func (l *Live) chooseRows(ctx context.Context, p *LivePartition) (choice, error) {
	c := choice{map[keyOf]rowOf{}}
	seen := make([]uint64, p.Stored*bitsPerRow/64+1)
	seed := maphash.MakeSeed()
	err := l.keys(ctx, p, func(k keyOf, _ rowOf) {
		at := maphash.Comparable(seed, k) % uint64(len(seen)*64)
		if seen[at/64]>>(at%64)&1 == 1 {
			c.best[k] = rowOf{}
		}
		seen[at/64] |= 1 << (at % 64)
	})
	if err != nil || len(c.best) == 0 {
		return c, err
	}
	err = l.keys(ctx, p, func(k keyOf, r rowOf) {
		if best, several := c.best[k]; several && r.before(best) {
			c.best[k] = r
		}
	})
	return c, err
}

// keys calls do for each live row's key.
func (l *Live) keys(ctx context.Context, p *LivePartition, do func(keyOf, rowOf)) error {
	fields := []LiveField{l.Fields[0], l.Fields[1], l.Fields[l.key]}
	for r, err := range l.scan(ctx, p, fields, nil) {
		if err != nil {
			return err
		}
		do(keyOf{r.vchannel, string(r.Values[2])}, rowOf{r.Timestamp, r.ID, true})
	}
	return nil
}
