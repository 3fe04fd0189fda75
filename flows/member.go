package flows

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// member watches this worker's membership of its group. The client would go on
// for ever, or otherwise than configured, where somebody has to look.
type member struct{ w *Worker }

// OnGroupManageError implements kgo.HookGroupManageError. What the client held
// is lost by then, without a commit.
func (m member) OnGroupManageError(err error) {
	id := m.w.cfg.InstanceID
	switch {
	case errors.Is(err, kerr.FencedInstanceID):
		// A younger worker has the name: to take it back would only begin a quarrel.
		m.w.fail(fmt.Errorf("%w: %q", ErrInstanceTaken, id))
	case errors.Is(err, kerr.UnreleasedInstanceID):
		// With the consumer protocol the elder keeps the name. It may be dead.
		m.w.log.Error().Err(err).Str("instance_id", id).Msg("the group holds this instance ID for another worker: if one runs give this one " +
			"another ID, if it was killed its session has to end first; tries again")
	}
}

// OnBrokerRead implements kgo.HookBrokerRead. The client joins a group in the
// classic way, and says nothing, where the broker does not know the other.
func (m member) OnBrokerRead(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	const joinGroup = 11
	if err == nil && key == joinGroup && m.w.cfg.ServerSide {
		m.w.fail(ErrProtocol)
	}
}
