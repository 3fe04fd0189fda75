package checkpoints

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// MaxEpoch is the last epoch whose log IDs have 18 digits. A claim beyond it
// is refused: a wrapped epoch would name objects that exist.
const MaxEpoch = 9_999_999

// Names makes the log IDs and segment IDs of one claim. The epoch is in every
// one of them, so that no other life of the vchannel can make the same; one
// counter feeds both, so that none repeats within this life. Safe for
// concurrent use: the segment buffer and the tracker share it.
type Names struct {
	vchannel VChannel
	epoch    int64
	n        atomic.Int64
}

// NewNames returns the names of the claim that stored epoch.
func NewNames(v VChannel, epoch int64) (*Names, error) {
	if epoch < 1 || epoch > MaxEpoch {
		return nil, fmt.Errorf("epoch %d of %s: %w", epoch, v.Name(), ErrEpoch)
	}
	return &Names{vchannel: v, epoch: epoch}, nil
}

// LogID is a fresh log ID: 1, seven digits of epoch, ten of sequence. IDs
// rise with time also as strings. After ten thousand million names they grow
// wider, which Encode refuses; a new claim begins at one again.
func (n *Names) LogID() string { return fmt.Sprintf("1%07d%010d", n.epoch, n.n.Add(1)) }

// SegmentID is a fresh ID of an auto segment. Bit 62 keeps it apart from the
// IDs that Milvus gives, which are hybrid timestamps.
func (n *Names) SegmentID() int64 {
	seed := fmt.Sprintf("%s/%d/%d/%d", n.vchannel.TopicID, n.vchannel.Partition, n.epoch, n.n.Add(1))
	sum := sha256.Sum256([]byte(seed))
	return 1<<62 | int64(binary.BigEndian.Uint64(sum[:8])>>2)
}
