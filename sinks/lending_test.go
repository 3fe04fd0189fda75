package sinks

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/minio/minio-go/v7"

	"flowgraph/checkpoints"
)

// lateReader ends a request while it still holds its body, as net/http may.
type lateReader struct{ release chan struct{} }

func (l lateReader) RoundTrip(req *http.Request) (*http.Response, error) {
	go func() {
		<-l.release
		req.Body.Close()
	}()
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// The parts belong to the caller again when Put returns, and are overwritten
// then: a request that was given up must not read them any more.
func TestPutDoesNotReturnWhileARequestStillReadsItsParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		b := waitingBucket(t, &log)
		next := lateReader{make(chan struct{})}
		core, err := minio.NewCore("127.0.0.1:9000", &minio.Options{Creds: b.creds, Region: "us-east-1", Transport: &exchanger{next}, MaxRetries: 1})
		if err != nil {
			t.Fatal(err)
		}
		b.client = *core
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := b.Put(ctx, "k", checkpoints.Object{Parts: [][]byte{[]byte("bytes")}}, checkpoints.Condition{})
			ended <- err
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Errorf("returned early: %v", err)
		default:
			close(next.release)
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
	})
}
