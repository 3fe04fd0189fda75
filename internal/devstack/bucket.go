package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

// BucketConfig describes an embedded object store with one bucket.
type BucketConfig struct {
	Dir       string // objects are the plain files Dir/<bucket>/<key>
	Listen    string // host:port; port 0 or an empty string chooses a free one
	Bucket    string // empty: a-bucket
	AccessKey string // empty: minioadmin, as with a fresh MinIO
	SecretKey string
	Sidecar   bool // keep metadata in files beside Dir even where extended attributes work
}

func (c BucketConfig) withDefaults() BucketConfig {
	if c.Bucket == "" {
		c.Bucket = "a-bucket"
	}
	if c.AccessKey == "" {
		c.AccessKey, c.SecretKey = "minioadmin", "minioadmin"
	}
	return c
}

// Store is an embedded object store that runs until it is closed.
type Store struct {
	cfg    BucketConfig
	addr   string
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // why it ended; read only once ended is closed
}

// maxCopy is the largest object that may be copied inside the store, as in S3.
const maxCopy = 5 << 30

// StartBucket starts the store, makes its bucket and returns when it answers.
// It ends with ctx or with Close. Only one can run in a process at a time, and
// until Close the process' working directory is Dir: the store's code needs
// that, so whoever opens files meanwhile must use absolute paths.
func StartBucket(ctx context.Context, cfg BucketConfig) (*Store, error) {
	cfg = cfg.withDefaults()
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("bucket's directory: %w", err)
	}
	cfg.Dir = dir
	before, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(cfg.Dir, cfg.Bucket), 0o755); err != nil {
		return nil, fmt.Errorf("bucket's directory: %w", err)
	}
	backend, err := openBackend(cfg)
	if err != nil {
		return nil, err
	}
	addr, err := freeAddr(cfg.Listen)
	if err != nil {
		backend.Shutdown()
		return nil, errors.Join(fmt.Errorf("start object store: %w", err), os.Chdir(before))
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Store{cfg: cfg, addr: addr, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		err := embedgw.RunVersityGW(ctx, backend, gateway(cfg, addr))
		s.err = errors.Join(err, os.Chdir(before))
	}()
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start object store on %s: %w", addr, err), s.Close())
	}
	return s, nil
}

// openBackend keeps the objects' metadata in extended attributes where the
// file system has them, else in files beside: the objects are plain files in
// both cases.
func openBackend(cfg BucketConfig) (*posix.Posix, error) {
	opts := posix.PosixOpts{CopyObjectThreshold: maxCopy, ValidateBucketNames: true}
	var store meta.MetadataStorer = meta.XattrMeta{}
	if cfg.Sidecar || (meta.XattrMeta{}).Test(cfg.Dir) != nil {
		beside := filepath.Join(filepath.Dir(cfg.Dir), "."+filepath.Base(cfg.Dir)+"-metadata")
		if err := os.MkdirAll(beside, 0o755); err != nil {
			return nil, fmt.Errorf("object store's metadata: %w", err)
		}
		cars, err := meta.NewSideCar(beside)
		if err != nil {
			return nil, fmt.Errorf("object store's metadata: %w", err)
		}
		store, opts.SideCarDir = cars, beside
	}
	p, err := posix.New(cfg.Dir, store, opts)
	if err != nil {
		return nil, fmt.Errorf("open object store in %s: %w", cfg.Dir, err)
	}
	return p, nil
}

func gateway(cfg BucketConfig, addr string) *embedgw.Config {
	root := auth.Account{Access: cfg.AccessKey, Secret: cfg.SecretKey, Role: auth.RoleAdmin}
	return &embedgw.Config{
		RootUserAccess: cfg.AccessKey, RootUserSecret: cfg.SecretKey,
		// Given by hand, because making it by configuration prints to stdout.
		IAMService: auth.NewIAMServiceSingle(root),
		Ports:      []string{addr}, Region: "us-east-1",
		MaxConnections: 4096, MaxRequests: 4096, MultipartMaxParts: 10000,
		KeepAlive: true, Quiet: true, HealthPath: healthPath,
	}
}

const healthPath = "/healthy"

// ready waits until the store answers, has ended, or ctx ends.
func (s *Store) ready(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint()+healthPath, nil)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
			return nil
		}
		select {
		case <-s.ended:
			return errors.New("it ended at once; is the address in use?")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// Addr is the store's host:port.
func (s *Store) Addr() string { return s.addr }

// Endpoint is the store's URL.
func (s *Store) Endpoint() string { return "http://" + s.addr }

// Config is the configuration that it runs with, defaults filled in.
func (s *Store) Config() BucketConfig { return s.cfg }

// Close stops the store and waits until it has ended. It may be called again.
func (s *Store) Close() error {
	s.cancel()
	<-s.ended
	if s.err != nil {
		return fmt.Errorf("object store: %w", s.err)
	}
	return nil
}

// freeAddr turns port 0 into a port that is free now: the store cannot tell
// which one it was given.
func freeAddr(listen string) (string, error) {
	l, err := net.Listen("tcp", listenAddr(listen))
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
