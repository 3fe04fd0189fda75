// Package milvus is a client of the few requests that this program makes of a
// running Milvus.
package milvus

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"flowgraph/internal/reread"
)

// Errors to be tested with errors.Is.
var (
	// ErrMilvus: Milvus refused a request, or does not answer.
	ErrMilvus = errors.New("Milvus")
	// ErrRefused is an ErrMilvus that is Milvus' own answer, which it would
	// give again.
	ErrRefused = errors.New("refused")
	// ErrNotExist is an ErrRefused for a collection that is not there.
	ErrNotExist = errors.New("there is no such collection")
	// ErrSchema: what a Milvus tells of a collection is not the whole schema.
	ErrSchema = errors.New("its schema cannot be made out")
)

// answerIn is how long Milvus may take for one answer.
const answerIn = 60 * time.Second

// Config says where a Milvus is and how to log in to it.
type Config struct {
	Address  string // host:port
	Token    string // user:password or a key; empty: none
	Database string // empty: the default one
	TLS      bool
	CAFile   string // certificates to trust besides the system's; empty: none
}

// Client makes the requests. Its errors are ErrMilvus and name the request.
type Client struct {
	cfg     Config
	conn    *grpc.ClientConn
	service milvuspb.MilvusServiceClient
}

// Dial makes a client; nothing is sent yet.
func Dial(cfg Config) (*Client, error) {
	secret, err := cfg.credentials()
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrMilvus, cfg.Address, err)
	}
	conn, err := grpc.NewClient(cfg.Address, grpc.WithTransportCredentials(secret))
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrMilvus, cfg.Address, err)
	}
	return &Client{cfg, conn, milvuspb.NewMilvusServiceClient(conn)}, nil
}

func (c Config) credentials() (credentials.TransportCredentials, error) {
	if !c.TLS {
		return insecure.NewCredentials(), nil
	}
	t, err := reread.Trusting(c.CAFile)
	if err != nil {
		return nil, err
	}
	return credentials.NewTLS(t), nil
}

// Close ends the connection.
func (m *Client) Close() error { return m.conn.Close() }

// Address is where the Milvus is.
func (m *Client) Address() string { return m.cfg.Address }

// Database is the one that all requests but those for schemas are about; ""
// is the default one.
func (m *Client) Database() string { return m.cfg.Database }

// reply is an answer that carries a status, as all but the status itself do.
type reply interface{ GetStatus() *commonpb.Status }

// plain lets a bare status be read as a reply.
type plain struct{ *commonpb.Status }

func (p plain) GetStatus() *commonpb.Status { return p.Status }

// order is a request that is answered by a status alone.
func order[Q any](do func(context.Context, Q, ...grpc.CallOption) (*commonpb.Status, error)) func(context.Context, Q, ...grpc.CallOption) (plain, error) {
	return func(ctx context.Context, q Q, o ...grpc.CallOption) (plain, error) {
		s, err := do(ctx, q, o...)
		return plain{s}, err
	}
}

// ask makes one request about the configured database.
func ask[Q any, R reply](ctx context.Context, m *Client, what string, do func(context.Context, Q, ...grpc.CallOption) (R, error), q Q) (R, error) {
	return askIn(ctx, m, m.cfg.Database, what, do, q)
}

// askIn makes one request about a database.
func askIn[Q any, R reply](ctx context.Context, m *Client, database, what string, do func(context.Context, Q, ...grpc.CallOption) (R, error), q Q) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	if m.cfg.Token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", base64.StdEncoding.EncodeToString([]byte(m.cfg.Token)))
	}
	if database != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "dbname", database)
	}
	r, err := do(ctx, q)
	if err != nil {
		return r, fmt.Errorf("%w at %s: %s: %w", ErrMilvus, m.cfg.Address, what, err)
	}
	if err := refused(r.GetStatus()); err != nil {
		return r, fmt.Errorf("%w at %s: %s: %w", ErrMilvus, m.cfg.Address, what, err)
	}
	return r, nil
}

// Codes of releases from 2.3 on.
const (
	databaseNotFound   = 800
	collectionNotFound = 100
)

// refused is nil for a success.
func refused(s *commonpb.Status) error {
	//lint:ignore SA1019 releases before 2.3 know no other code
	old := s.GetErrorCode()
	switch code := s.GetCode(); {
	case code == 0 && old == commonpb.ErrorCode_Success:
		return nil
	case code == collectionNotFound, code == databaseNotFound, code == 0 && old == commonpb.ErrorCode_CollectionNotExists:
		return fmt.Errorf("%w (%w): %s (code %d)", ErrNotExist, ErrRefused, s.GetReason(), code)
	default:
		return fmt.Errorf("%w: %s (code %d)", ErrRefused, s.GetReason(), code)
	}
}

// unimplemented: the release does not know the request.
func unimplemented(err error) bool { return status.Code(err) == codes.Unimplemented }
