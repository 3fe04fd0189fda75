package milvus_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"flowgraph/internal/milvus"
)

// server holds one collection in one database, as Milvus shows it.
type server struct {
	milvuspb.UnimplementedMilvusServiceServer
	database string // of collection 7
	schema   *schemapb.CollectionSchema
	login    string // wanted
	failure  error  // of the next request
	noList   bool   // databases may not be listed
}

func (s *server) intercept(ctx context.Context, q any, _ *grpc.UnaryServerInfo, do grpc.UnaryHandler) (any, error) {
	if err := s.failure; err != nil {
		return nil, err
	}
	md, _ := metadata.FromIncomingContext(ctx)
	if got := strings.Join(md.Get("authorization"), ","); got != base64.StdEncoding.EncodeToString([]byte(s.login)) {
		return nil, errors.New("who are you")
	}
	return do(ctx, q)
}

func of(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	if names := md.Get("dbname"); len(names) > 0 {
		return names[0]
	}
	return "default"
}

func (s *server) DescribeCollection(ctx context.Context, q *milvuspb.DescribeCollectionRequest) (*milvuspb.DescribeCollectionResponse, error) {
	if of(ctx) != s.database || q.GetCollectionID() != 7 || q.GetCollectionName() != "" {
		return &milvuspb.DescribeCollectionResponse{Status: &commonpb.Status{Code: 100, Reason: "collection not found"}}, nil
	}
	return &milvuspb.DescribeCollectionResponse{Status: &commonpb.Status{}, CollectionID: 7, Schema: s.schema}, nil
}

func (s *server) ShowPartitions(ctx context.Context, q *milvuspb.ShowPartitionsRequest) (*milvuspb.ShowPartitionsResponse, error) {
	if of(ctx) != s.database || q.GetCollectionName() != s.schema.GetName() {
		return nil, errors.New("the partitions of what?")
	}
	return &milvuspb.ShowPartitionsResponse{Status: &commonpb.Status{}, PartitionNames: []string{"_default", "p"}, PartitionIDs: []int64{70, 71}}, nil
}

func (s *server) ListDatabases(context.Context, *milvuspb.ListDatabasesRequest) (*milvuspb.ListDatabasesResponse, error) {
	if s.noList {
		return &milvuspb.ListDatabasesResponse{Status: &commonpb.Status{Code: 65535, Reason: "permission deny"}}, nil
	}
	return &milvuspb.ListDatabasesResponse{Status: &commonpb.Status{}, DbNames: []string{"default", "other", "third"}}, nil
}

// start serves; the client is closed with the test.
func (s *server) start(t *testing.T, cfg milvus.Config, o ...grpc.ServerOption) *milvus.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(append(o, grpc.UnaryInterceptor(s.intercept))...)
	milvuspb.RegisterMilvusServiceServer(g, s)
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	t.Cleanup(func() {
		g.Stop()
		<-served
	})
	cfg.Address = l.Addr().String()
	client, err := milvus.Dial(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func shown(dynamic bool, ids ...int64) *schemapb.CollectionSchema {
	s := &schemapb.CollectionSchema{Name: "docs", EnableDynamicField: dynamic}
	for _, id := range ids {
		s.Fields = append(s.Fields, &schemapb.FieldSchema{FieldID: id, Name: "f", DataType: schemapb.DataType_Int64, IsPrimaryKey: id == 100})
	}
	return s
}

func TestACollectionIsFoundByItsIDInWhateverDatabaseItIs(t *testing.T) {
	for database, cfg := range map[string]milvus.Config{"default": {}, "third": {}, "other": {Database: "other"}} {
		s := &server{database: database, schema: shown(false, 100, 101), login: "root:Milvus"}
		cfg.Token = s.login
		client := s.start(t, cfg)
		k, err := client.Lookup(t.Context(), 7)
		if err != nil {
			t.Fatalf("in %s: %v", database, err)
		}
		if k.Name != "docs" || k.Partitions[70] != "_default" || k.Partitions[71] != "p" || len(k.Schema.GetFields()) != 2 {
			t.Errorf("in %s: %v", database, k)
		}
		if _, err := client.Lookup(t.Context(), 8); !errors.Is(err, milvus.ErrNotExist) || !errors.Is(err, milvus.ErrMilvus) {
			t.Errorf("another one, in %s: %v", database, err)
		}
	}
}

func TestWhoMayNotListDatabasesLearnsThatTheCollectionIsNotThere(t *testing.T) {
	s := &server{database: "third", schema: shown(false, 100), noList: true}
	if _, err := s.start(t, milvus.Config{}).Lookup(t.Context(), 7); !errors.Is(err, milvus.ErrNotExist) {
		t.Error(err)
	}
}

// One that is away may have the collection: it must be asked again.
func TestAMilvusThatIsAwayIsNotOneWithoutTheCollection(t *testing.T) {
	s := &server{database: "default", schema: shown(false, 100), failure: errors.New("starting up")}
	if _, err := s.start(t, milvus.Config{}).Lookup(t.Context(), 7); !errors.Is(err, milvus.ErrMilvus) || errors.Is(err, milvus.ErrNotExist) {
		t.Error(err)
	}
	s.failure, s.login = nil, "root:other"
	if _, err := s.start(t, milvus.Config{Token: "root:Milvus"}).Lookup(t.Context(), 7); !errors.Is(err, milvus.ErrMilvus) || errors.Is(err, milvus.ErrNotExist) {
		t.Error(err)
	}
}

func TestTheDynamicFieldIsWhereTheCreationPutIt(t *testing.T) {
	for _, c := range []struct {
		ids  []int64
		want int64 // 0: it cannot be told
	}{
		{[]int64{100, 101}, 102},
		{[]int64{100, 101, 103}, 102}, // 103 was added later
		{[]int64{100, 101, 103, 104}, 102},
		{[]int64{100, 103}, 0},
	} {
		s := &server{database: "default", schema: shown(true, c.ids...)}
		k, err := s.start(t, milvus.Config{}).Lookup(t.Context(), 7)
		if c.want == 0 {
			if !errors.Is(err, milvus.ErrSchema) {
				t.Errorf("fields %v: %v", c.ids, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		last := k.Schema.GetFields()[len(c.ids)]
		if last.GetFieldID() != c.want || !last.GetIsDynamic() || last.GetDataType() != schemapb.DataType_JSON {
			t.Errorf("fields %v: %v", c.ids, last)
		}
	}
}
