package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestAnErrorThatPassesEndsTheProcessOrARefusalIsTriedForEver(t *testing.T) {
	c := Config{Brokers: []string{"k:9092"}, SASL: Plain, User: "flow"}
	for _, x := range []struct {
		err  error
		kind error
	}{
		{kerr.SaslAuthenticationFailed, ErrRefused},
		{kerr.TopicAuthorizationFailed, ErrRefused},
		{kerr.GroupAuthorizationFailed, ErrRefused},
		{kerr.UnsupportedSaslMechanism, ErrRefused},
		{context.DeadlineExceeded, ErrAway},
		{&kgo.ErrFirstReadEOF{}, ErrAway},
	} {
		err := c.Explain(fmt.Errorf("asked: %w", x.err))
		if !errors.Is(err, x.kind) || !errors.Is(err, x.err) || !strings.Contains(err.Error(), "asked: ") {
			t.Errorf("%v is %v", x.err, err)
		}
		if again := c.Explain(err); again != err {
			t.Errorf("explained twice: %v", again)
		}
	}
	for _, err := range []error{nil, errors.New("something else"), kerr.NotLeaderForPartition} {
		if got := c.Explain(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}

func TestWhoMayNotWriteIsToldToAskForTheRightToRead(t *testing.T) {
	for writes, want := range map[bool]string{true: "Create and Write", false: "Read and Describe"} {
		c := Config{SASL: Plain, User: "flow", Writes: writes}
		if err := c.Explain(kerr.TopicAuthorizationFailed); !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestATroubleIsToldAtEachTryOrNeverOrItsEndIsNot(t *testing.T) {
	var out strings.Builder
	told := NewTeller(Config{Brokers: []string{"k:9092"}}, zerolog.New(&out))
	for range 100 {
		told.Log(kgo.LogLevelWarn, "unable to open connection to broker", "addr", "k:9092", "err", context.DeadlineExceeded)
	}
	if n := strings.Count(out.String(), "Kafka does not answer"); n != 1 {
		t.Errorf("told %d times: %s", n, &out)
	}
	told.OnBrokerRead(kgo.BrokerMetadata{Host: "k", Port: 9092}, 18, 0, 0, 0, nil) // before the login
	told.OnBrokerRead(kgo.BrokerMetadata{Host: "l", Port: 9092}, 3, 0, 0, 0, nil)  // another broker
	if strings.Contains(out.String(), "answers") {
		t.Errorf("told too soon that it is over: %s", &out)
	}
	told.OnBrokerRead(kgo.BrokerMetadata{Host: "k", Port: 9092}, 3, 0, 0, 0, nil)
	if !strings.Contains(out.String(), "Kafka answers") {
		t.Errorf("never told that it is over: %s", &out)
	}
	told.Log(kgo.LogLevelError, "unable to initialize sasl", "broker", "1", "err", kerr.SaslAuthenticationFailed)
	if !strings.Contains(out.String(), "--kafka-password") {
		t.Errorf("a refused login is not told: %s", &out)
	}
	told.Log(kgo.LogLevelWarn, "something else", "err", errors.New("odd"))
	if !strings.Contains(out.String(), `"message":"something else"`) {
		t.Errorf("what is not known is not logged: %s", &out)
	}
}

func TestAKafkaThatIsAwayFillsTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		told := NewTeller(Config{Brokers: []string{"k:9092"}}, zerolog.New(&out))
		for range 3600 {
			told.tell("", fmt.Errorf("ask: %w", context.DeadlineExceeded))
			time.Sleep(time.Second)
		}
		// At 0, 30, 90, 210, 450, 930 s and every ten minutes after that.
		if n := strings.Count(out.String(), "Kafka does not answer"); n != 10 {
			t.Errorf("told %d times in an hour: %s", n, &out)
		}
	})
}
