package flows

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// KafkaStatus is how the worker stands with its brokers.
type KafkaStatus struct {
	Brokers  []string   `json:"brokers"` // to begin with
	Group    string     `json:"group"`   // "" with an explicit list of partitions
	Topics   []string   `json:"topics"`  // expressions, or topic:partition
	Answered *time.Time `json:"answered"`
	Error    string     `json:"error,omitempty"` // the newest since a broker last answered
	Since    *time.Time `json:"error_since,omitempty"`
	Advice   string     `json:"advice,omitempty"`
}

// errNoTopic: the group has nothing to give.
var errNoTopic = errors.New("no topic to read")

// kafkaHealth is what the client's hooks and its log tell of the brokers. A
// client that cannot connect returns no error to whoever polls it.
type kafkaHealth struct {
	answered atomic.Int64 // Unix ms

	mu    sync.Mutex
	err   error
	since time.Time // of the first error since an answer
	last  time.Time
	topic error // why there is no topic to read; nil: there is, or it is not known
}

// OnBrokerRead implements kgo.HookBrokerRead. What precedes authentication is
// no answer.
func (k *kafkaHealth) OnBrokerRead(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	const handshake, versions, authenticate = 17, 18, 36
	if err == nil && key != handshake && key != versions && key != authenticate {
		k.answered.Store(time.Now().UnixMilli())
	}
}

// trouble notes an error of the client.
func (k *kafkaHealth) trouble(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if k.err == nil || k.answered.Load() > k.last.UnixMilli() {
		k.since = now
	}
	k.err, k.last = err, now
}

// KafkaTrouble notes why Kafka cannot be used, for whoever asks it before Run.
func (w *Worker) KafkaTrouble(err error) { w.kafka.trouble(err) }

// startTrouble is why a worker cannot start.
type startTrouble struct {
	mu    sync.Mutex
	err   error
	since time.Time
}

// startAdvice is beside an error that says itself which setting to look at.
const startAdvice = "Mend what the error names. The worker tries again for --start-patience and then ends; a secret in a file is read again."

// CannotStart notes what refuses the worker before Run; nil: nothing does.
func (w *Worker) CannotStart(err error) {
	w.refused.mu.Lock()
	defer w.refused.mu.Unlock()
	if w.refused.err == nil {
		w.refused.since = time.Now()
	}
	w.refused.err = err
}

// Refused is why the worker cannot start, and since when; nil: nothing is known
// that refuses it.
func (w *Worker) Refused() (since time.Time, err error) {
	w.refused.mu.Lock()
	defer w.refused.mu.Unlock()
	return w.refused.since, w.refused.err
}

func (t *startTrouble) describe(s *WorkerStatus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		since := t.since
		s.Error, s.Since, s.Advice = t.err.Error(), &since, startAdvice
	}
}

// noTopic notes why there is nothing to read; news says that there was before.
func (k *kafkaHealth) noTopic(err error) (news bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	news, k.topic = k.topic == nil && err != nil, err
	return news
}

func (k *kafkaHealth) status(cfg Config, now time.Time) KafkaStatus {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := KafkaStatus{Brokers: cfg.Brokers, Group: cfg.Group, Topics: cfg.Topics, Answered: logTime(k.answered.Load())}
	if len(cfg.Partitions) > 0 {
		s.Group = ""
		for topic, ids := range cfg.Partitions {
			for _, id := range ids {
				s.Topics = append(s.Topics, fmt.Sprintf("%s:%d", topic, id))
			}
		}
	}
	var session *kgo.ErrGroupSession
	switch {
	case k.err != nil && (k.answered.Load() < k.last.UnixMilli() || errors.As(k.err, &session) && now.Sub(k.last) < troubleShown):
		since := k.since
		s.Error, s.Since, s.Advice = k.err.Error(), &since, Advice(k.err)
	case k.topic != nil:
		s.Error, s.Advice = k.topic.Error(), Advice(k.topic)
	}
	return s
}

// troubleShown is how long a group that does not take this worker is told of,
// although its brokers answer.
const troubleShown = time.Minute
