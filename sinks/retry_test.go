package sinks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

func waitingBucket(t *testing.T, log *strings.Builder) *Bucket {
	t.Helper()
	cfg := Default()
	cfg.Endpoint, cfg.Bucket, cfg.AccessKey, cfg.SecretKey = "127.0.0.1:9000", "a-bucket", "a", "b"
	b, err := NewBucket(cfg, zerolog.New(log), Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAStoreInTroubleIsAskedLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		b := waitingBucket(t, &log)
		var pauses []time.Duration
		var last time.Time
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := retry(ctx, b, &task{op: "put", key: "k", waits: forever}, func(context.Context) (int, error) {
			if !last.IsZero() {
				pauses = append(pauses, time.Since(last))
			}
			last = time.Now()
			return 0, &answer{code: "SlowDown", status: 503, message: "words of the store"}
		})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "words of the store") {
			t.Errorf("ended with %v", err)
		}
		limit := b.cfg.BackoffFirst
		for i, p := range pauses {
			if p > limit || p < limit/2 {
				t.Fatalf("pause %d is %s, want %s to %s", i, p, limit/2, limit)
			}
			limit = min(2*limit, b.cfg.BackoffWait)
		}
		if lines := strings.Count(log.String(), "trying again"); lines > 10 {
			t.Errorf("%d log lines in an hour", lines)
		}
	})
}

func TestACancelledContextEndsAPauseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		b := waitingBucket(t, &log)
		b.cfg.BackoffFirst, b.cfg.BackoffWait = time.Hour, time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := retry(ctx, b, &task{op: "get", key: "k", waits: forever}, func(context.Context) (int, error) {
			return 0, errors.New("connection refused")
		})
		if !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Fatalf("%v after %s", err, time.Since(start))
		}
		if s := b.Waiting(); s.Calls != 0 {
			t.Errorf("still waiting: %+v", s)
		}
	})
}

func TestARefusalThatTurnsIntoTroubleIsCountedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		b := waitingBucket(t, &log)
		tries := 0
		_, err := retry(t.Context(), b, &task{op: "put", key: "k", refusals: 2, waits: forever}, func(context.Context) (int, error) {
			if tries++; tries == 10 {
				return 1, nil
			}
			if tries%3 == 0 {
				return 0, &answer{code: "SlowDown", status: 503}
			}
			return 0, &answer{code: "AccessDenied", status: 403}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
