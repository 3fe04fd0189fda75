package kafka

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// A trouble that goes on is told again after tellFirst, and then after twice
	// as long each time, up to tellLast.
	tellFirst = 30 * time.Second
	tellLast  = 10 * time.Minute
	// Without a broker the client warns several times a second.
	clientTold  = 5
	clientEvery = 10 * time.Second
)

// Teller is a client's log and hooks. The client says only in its log why it
// does not get through, at each try and in words of its own; the Teller says
// it once and then again from time to time, with what to do.
type Teller struct {
	// Heard, if it is not nil, is given every error, explained or not, said
	// just now or not.
	Heard func(error)

	cfg    Config
	log    zerolog.Logger
	rest   zerolog.Logger // of what needs no explanation
	inside atomic.Bool    // it was told that a broker cannot be used, and not yet that it can

	mu    sync.Mutex
	told  map[string]said // by sentence
	where string          // the broker that does not answer, host:port; "" if it is not known
}

// said is when a sentence was last told, and how long it then rests.
type said struct {
	at    time.Time
	pause time.Duration
}

// NewTeller writes to log.
func NewTeller(cfg Config, log zerolog.Logger) *Teller {
	log = log.With().Str("component", "kafka").Logger()
	return &Teller{
		cfg: cfg, log: log, told: map[string]said{},
		rest: log.Sample(&zerolog.BurstSampler{Burst: clientTold, Period: clientEvery}),
	}
}

// Level implements kgo.Logger.
func (t *Teller) Level() kgo.LogLevel { return kgo.LogLevelWarn }

// Log implements kgo.Logger.
func (t *Teller) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	where := ""
	for i := 0; i+1 < len(keyvals); i += 2 {
		if text, ok := keyvals[i+1].(string); ok && keyvals[i] == "addr" {
			where = text
		}
	}
	for i := 0; i+1 < len(keyvals); i += 2 {
		if err, ok := keyvals[i+1].(error); ok && t.tell(where, err) {
			return
		}
	}
	event := t.rest.Warn()
	if level == kgo.LogLevelError {
		event = t.rest.Error()
	}
	for i := 0; i+1 < len(keyvals); i += 2 {
		event = event.Interface(fmt.Sprint(keyvals[i]), printable(keyvals[i+1]))
	}
	event.Msg(msg)
}

// tell says what an error means, if it is known and was not said just now.
func (t *Teller) tell(where string, err error) bool {
	if t.Heard != nil {
		t.Heard(err)
	}
	var e *explained
	if !errors.As(t.cfg.Explain(err), &e) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !denied(e) {
		t.where = where
		t.inside.Store(true)
	}
	now := time.Now()
	last, again := t.told[e.sentence]
	if again && now.Sub(last.at) < last.pause {
		return true
	}
	t.told[e.sentence] = said{now, min(max(2*last.pause, tellFirst), tellLast)}
	event := t.log.Warn()
	if errors.Is(e, ErrRefused) {
		event = t.log.Error()
	}
	if where != "" {
		event = event.Str("broker", where)
	}
	event.AnErr("error", e.cause).Msg(e.sentence + "; trying again")
	return true
}

// OnBrokerRead implements kgo.HookBrokerRead: an answer to what only a client
// that is logged in may ask says that the trouble is over.
func (t *Teller) OnBrokerRead(m kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	const handshake, versions, authenticate = 17, 18, 36
	if err != nil || key == handshake || key == versions || key == authenticate || !t.inside.Load() {
		return
	}
	t.over(net.JoinHostPort(m.Host, strconv.Itoa(int(m.Port))))
}

// over says that a broker can be used again, if it was told that it cannot.
func (t *Teller) over(broker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Of several brokers one may be away for hours while the others answer.
	if !t.inside.Load() || t.where != "" && t.where != broker {
		return
	}
	t.inside.Store(false)
	clear(t.told) // what comes back later is news
	t.log.Info().Msg("Kafka answers")
}

func printable(v any) any {
	switch v := v.(type) {
	case error:
		return v.Error()
	case net.Addr:
		return v.String()
	}
	return v
}
