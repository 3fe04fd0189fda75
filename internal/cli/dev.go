package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/rs/zerolog"

	"flowgraph/internal/devstack"
)

// DevCommand serves Kafka and a bucket from one process, for development.
type DevCommand struct {
	Dir         string  `help:"Folder that keeps both over restarts; objects are plain files in its folder bucket." default:"flowgraph-dev" placeholder:"DIR" group:"Development"`
	KafkaListen Address `help:"Address of the broker." default:"127.0.0.1:9092" placeholder:"HOST:PORT" group:"Development"`
	S3Listen    Address `name:"s3-listen" help:"Address of the object store." default:"127.0.0.1:9000" placeholder:"HOST:PORT" group:"Development"`
}

// Validate refuses what would serve nothing.
func (c *DevCommand) Validate() error {
	if c.Dir == "" || c.KafkaListen == "" || c.S3Listen == "" {
		return errors.New("--dir, --kafka-listen and --s3-listen must not be empty")
	}
	return nil
}

// Run serves until stopped. The keys are those of a fresh MinIO: this is not
// for data that must be kept from anyone.
func (c *DevCommand) Run(p *Process, _ zerolog.Logger) (err error) {
	// Absolute, because the embedded bucket moves the working directory.
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	broker, err := devstack.StartBroker(devstack.BrokerConfig{Dir: filepath.Join(dir, "kafka"), Listen: string(c.KafkaListen)})
	if err != nil {
		return err
	}
	defer broker.Close()
	store, err := devstack.StartBucket(p.Kill, devstack.BucketConfig{Dir: filepath.Join(dir, "bucket"), Listen: string(c.S3Listen)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	s3 := store.Config()
	if _, err := fmt.Fprintf(p.Stdout, devText, broker.Addr(), store.Endpoint(), s3.Bucket, s3.AccessKey, s3.SecretKey,
		filepath.Join(s3.Dir, s3.Bucket)); err != nil {
		return err
	}
	<-p.Stop.Done()
	return nil
}

const devText = `Kafka       %s
S3          %s
bucket      %s
access key  %s
secret key  %s
objects     %s

In another terminal:
  flowgraph replay testdata/recordings/all_types/records.jsonl.gz --brokers %[1]s
  flowgraph run --brokers %[1]s --topics '/by-dev-rootcoord-dml_[0-9]+/' --s3-endpoint %[2]s --s3-access-key %[4]s --s3-secret-key %[5]s
Stop with Ctrl-C.
`
