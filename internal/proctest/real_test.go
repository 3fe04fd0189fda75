//go:build unix

package proctest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/reread"
)

// real are an Apache Kafka and a MinIO, children of this process.
type real struct {
	t                 *testing.T
	dir, scripts      string
	brokers, stores   string
	controller, told  string
	roots             string // file of the authority that signed the store's certificate; "": it speaks no TLS
	kafka, minioChild *child
}

// absent is the exit code of a script that misses something of this machine.
const absent = 3

func newReal(t *testing.T, advertise string) *real {
	return newRealWith(t, advertise, func(*real) {})
}

// newRealWith prepares the folders of both before they start.
func newRealWith(t *testing.T, advertise string, prepare func(*real)) *real {
	scripts := filepath.Join(options.root, "testdata/real")
	r := &real{
		t: t, dir: t.TempDir(), scripts: scripts,
		brokers: freeAddress(t), controller: freeAddress(t), stores: freeAddress(t),
	}
	if r.told = advertise; advertise == "" {
		r.told = r.brokers
	}
	for _, script := range []string{"kafka", "minio"} {
		out, err := exec.Command(filepath.Join(scripts, script), "prepare").CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == absent {
			t.Skip(strings.TrimSpace(string(out)))
		}
		if err != nil {
			t.Fatalf("%s prepare: %v\n%s", script, err, out)
		}
		if err := os.Mkdir(filepath.Join(r.dir, script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	prepare(r)
	r.startStore()
	r.startBroker()
	return r
}

func (r *real) broker() string { return r.brokers }
func (r *real) store() string  { return r.stores }
func (r *real) killBroker()    { r.kafka.kill() }
func (r *real) killStore()     { r.minioChild.kill() }

func (r *real) startBroker() {
	r.kafka = spawn(r.t, r.dir, "kafka-broker", filepath.Join(r.scripts, "kafka"), "run", filepath.Join(r.dir, "kafka"), port(r.brokers), port(r.controller), port(r.told))
	client, err := kgo.NewClient(past(r.brokers, r.told)...)
	if err != nil {
		r.t.Fatal(err)
	}
	defer client.Close()
	await(r.t, saying("Kafka does not answer"), func() bool {
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		if r.kafka.ended() {
			r.t.Fatalf("Kafka ended:\n%s", r.kafka.tail(12))
		}
		return client.Ping(ctx) == nil
	})
}

// logFile is where the broker has the only partition of a topic.
func (r *real) logFile(topic string) string {
	return filepath.Join(r.dir, "kafka", "data", topic+"-0", fmt.Sprintf("%020d.log", 0))
}

// logSize is what loseEnd may cut a topic's log back to, later.
func (r *real) logSize(topic string) int64 {
	r.t.Helper()
	info, err := os.Stat(r.logFile(topic))
	if err != nil {
		r.t.Fatal(err)
	}
	return info.Size()
}

// loseEnd lets the broker lose the end of its log, as a machine does that had
// not written it to its disk.
func (r *real) loseEnd(topic string, size int64) {
	r.t.Helper()
	r.killBroker()
	if err := os.Truncate(r.logFile(topic), size); err != nil {
		r.t.Fatal(err)
	}
	for _, made := range []string{"*index", "*.snapshot"} { // the broker makes them again
		names, _ := filepath.Glob(filepath.Join(filepath.Dir(r.logFile(topic)), made))
		for _, n := range names {
			if err := os.Remove(n); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	r.startBroker()
}

func (r *real) startStore() {
	r.minioChild = spawn(r.t, r.dir, "minio-server", filepath.Join(r.scripts, "minio"), "run", filepath.Join(r.dir, "minio"), port(r.stores))
	opts := &minio.Options{Creds: credentials.NewStaticV4(access, access, "")}
	if r.roots != "" {
		trust, err := reread.Trusting(r.roots)
		if err != nil {
			r.t.Fatal(err)
		}
		opts.Secure, opts.Transport = true, &http.Transport{TLSClientConfig: trust}
	}
	client, err := minio.New(r.stores, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	await(r.t, saying("MinIO does not answer"), func() bool {
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		there, err := client.BucketExists(ctx, bucketName)
		if err == nil && !there {
			err = client.MakeBucket(ctx, bucketName, minio.MakeBucketOptions{})
		}
		return !r.minioChild.ended() && err == nil
	})
}

func port(address string) string {
	_, p, _ := net.SplitHostPort(address)
	return p
}
