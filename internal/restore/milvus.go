package restore

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// answerIn is how long Milvus may take for one answer.
const answerIn = 60 * time.Second

// MilvusConfig says where a Milvus is and how to log in to it.
type MilvusConfig struct {
	Address  string // host:port
	Token    string // user:password or a key; empty: none
	Database string // empty: the default one
	TLS      bool
}

// Milvus is a client of the few requests that a restore needs. Its errors are
// ErrMilvus and name the request.
type Milvus struct {
	cfg    MilvusConfig
	conn   *grpc.ClientConn
	client milvuspb.MilvusServiceClient
}

// Dial makes a client; nothing is sent yet.
func Dial(cfg MilvusConfig) (*Milvus, error) {
	secret := insecure.NewCredentials()
	if cfg.TLS {
		secret = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	conn, err := grpc.NewClient(cfg.Address, grpc.WithTransportCredentials(secret))
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrMilvus, cfg.Address, err)
	}
	return &Milvus{cfg, conn, milvuspb.NewMilvusServiceClient(conn)}, nil
}

// Close ends the connection.
func (m *Milvus) Close() error { return m.conn.Close() }

// reply is an answer that carries a status, as all but the status itself do.
type reply interface{ GetStatus() *commonpb.Status }

// plain lets a bare status be read as a reply.
type plain struct{ *commonpb.Status }

func (p plain) GetStatus() *commonpb.Status { return p.Status }

// ask makes one request.
func ask[Q any, R reply](ctx context.Context, m *Milvus, what string, do func(context.Context, Q, ...grpc.CallOption) (R, error), q Q) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	if m.cfg.Token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", base64.StdEncoding.EncodeToString([]byte(m.cfg.Token)))
	}
	if m.cfg.Database != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "dbname", m.cfg.Database)
	}
	r, err := do(ctx, q)
	if err != nil {
		return r, fmt.Errorf("%w at %s: %s: %w", ErrMilvus, m.cfg.Address, what, err)
	}
	//lint:ignore SA1019 releases before 2.3 know no other code
	if s := r.GetStatus(); s.GetCode() != 0 || s.GetErrorCode() != commonpb.ErrorCode_Success {
		return r, fmt.Errorf("%w at %s: %s: %s (code %d)", ErrMilvus, m.cfg.Address, what, s.GetReason(), s.GetCode())
	}
	return r, nil
}

// order is a request that is answered by a status alone.
func order[Q any](do func(context.Context, Q, ...grpc.CallOption) (*commonpb.Status, error)) func(context.Context, Q, ...grpc.CallOption) (plain, error) {
	return func(ctx context.Context, q Q, o ...grpc.CallOption) (plain, error) {
		s, err := do(ctx, q, o...)
		return plain{s}, err
	}
}

// version is what the Milvus calls itself, as v2.3.5.
func (m *Milvus) version(ctx context.Context) (string, error) {
	r, err := ask(ctx, m, "ask its version", m.client.GetVersion, &milvuspb.GetVersionRequest{})
	return r.GetVersion(), err
}

// described is a collection as Milvus has it.
type described struct {
	id     int64
	schema *schemapb.CollectionSchema
}

// describe returns nil if there is no such collection.
func (m *Milvus) describe(ctx context.Context, name string) (*described, error) {
	has, err := ask(ctx, m, "look for collection "+name, m.client.HasCollection, &milvuspb.HasCollectionRequest{DbName: m.cfg.Database, CollectionName: name})
	if err != nil || !has.GetValue() {
		return nil, err
	}
	r, err := ask(ctx, m, "describe collection "+name, m.client.DescribeCollection, &milvuspb.DescribeCollectionRequest{DbName: m.cfg.Database, CollectionName: name})
	if err != nil {
		return nil, err
	}
	return &described{r.GetCollectionID(), r.GetSchema()}, nil
}

func (m *Milvus) create(ctx context.Context, s *schemapb.CollectionSchema, shards, partitions int) error {
	raw, err := proto.Marshal(s)
	if err != nil {
		return fmt.Errorf("schema of %s: %w", s.GetName(), err)
	}
	q := &milvuspb.CreateCollectionRequest{
		DbName: m.cfg.Database, CollectionName: s.GetName(), Schema: raw, ShardsNum: int32(shards),
		ConsistencyLevel: commonpb.ConsistencyLevel_Bounded, NumPartitions: int64(partitions),
	}
	_, err = ask(ctx, m, "create collection "+s.GetName(), order(m.client.CreateCollection), q)
	return err
}

func (m *Milvus) partitions(ctx context.Context, collection string) ([]string, error) {
	r, err := ask(ctx, m, "list the partitions of "+collection, m.client.ShowPartitions, &milvuspb.ShowPartitionsRequest{DbName: m.cfg.Database, CollectionName: collection})
	return r.GetPartitionNames(), err
}

func (m *Milvus) createPartition(ctx context.Context, collection, name string) error {
	q := &milvuspb.CreatePartitionRequest{DbName: m.cfg.Database, CollectionName: collection, PartitionName: name}
	_, err := ask(ctx, m, "create partition "+name, order(m.client.CreatePartition), q)
	return err
}

// rows is how many rows a partition's segments have.
func (m *Milvus) rows(ctx context.Context, collection, partition string) (int64, error) {
	q := &milvuspb.GetPartitionStatisticsRequest{DbName: m.cfg.Database, CollectionName: collection, PartitionName: partition}
	r, err := ask(ctx, m, "count the rows of partition "+partition, m.client.GetPartitionStatistics, q)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(param(r.GetStats(), "row_count"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: no number of rows for partition %s: %w", ErrMilvus, partition, err)
	}
	return n, nil
}

// before26 says whether a version is below 2.6; what cannot be read is.
func before26(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &minor); err != nil {
		return true
	}
	return major < 2 || major == 2 && minor < 6
}
