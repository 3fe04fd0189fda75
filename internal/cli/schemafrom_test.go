package cli

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"

	"flowgraph/stages"
	"flowgraph/stages/column"
)

// teller is a Milvus that has collection 7.
type teller struct {
	milvuspb.UnimplementedMilvusServiceServer
}

func (teller) DescribeCollection(_ context.Context, q *milvuspb.DescribeCollectionRequest) (*milvuspb.DescribeCollectionResponse, error) {
	if q.GetCollectionID() != 7 {
		return &milvuspb.DescribeCollectionResponse{Status: &commonpb.Status{Code: 100}}, nil
	}
	s := &schemapb.CollectionSchema{Name: "docs", EnableDynamicField: true, Fields: []*schemapb.FieldSchema{
		{FieldID: 100, Name: "id", IsPrimaryKey: true, DataType: schemapb.DataType_Int64},
	}}
	return &milvuspb.DescribeCollectionResponse{Status: &commonpb.Status{}, CollectionID: 7, Schema: s}, nil
}

func (teller) ShowPartitions(context.Context, *milvuspb.ShowPartitionsRequest) (*milvuspb.ShowPartitionsResponse, error) {
	return &milvuspb.ShowPartitionsResponse{Status: &commonpb.Status{}, PartitionNames: []string{"_default"}, PartitionIDs: []int64{70}}, nil
}

func tell(t *testing.T) Address {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	milvuspb.RegisterMilvusServiceServer(g, teller{})
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	t.Cleanup(func() {
		g.Stop()
		<-served
	})
	return Address(l.Addr().String())
}

func source(t *testing.T, from Address, log zerolog.Logger) *schemas {
	s, err := RunConfig{SchemaFrom: from}.schemas(log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestWhoHasNoSchemaIsToldWhatToDo(t *testing.T) {
	_, err := source(t, "", zerolog.Nop()).Given(t.Context(), 7)
	if !errors.Is(err, stages.ErrUnknownCollection) || !strings.Contains(err.Error(), "--schema-file") || !strings.Contains(err.Error(), "--schema-from") {
		t.Errorf("without a source: %v", err)
	}
	_, err = source(t, tell(t), zerolog.Nop()).Given(t.Context(), 8)
	if !errors.Is(err, stages.ErrUnknownCollection) || !strings.Contains(err.Error(), "does not have it") || !strings.Contains(err.Error(), "--schema-file") {
		t.Errorf("of a Milvus without it: %v", err)
	}
	// It may be there later: the vchannel must not be stopped for good.
	if _, err = source(t, "127.0.0.1:1", zerolog.Nop()).Given(t.Context(), 7); !errors.Is(err, stages.ErrNoAnswer) || errors.Is(err, stages.ErrUnknownCollection) {
		t.Errorf("of a Milvus that is away: %v", err)
	}
}

func TestASchemaOfAFileGoesBeforeThatOfMilvus(t *testing.T) {
	var log bytes.Buffer
	s := source(t, tell(t), zerolog.New(&log))
	g, err := s.Given(t.Context(), 7)
	if err != nil || !g.Doubtful || g.Name != "docs" || g.Partitions[70] != "_default" {
		t.Fatalf("%+v, %v", g, err)
	}
	schema, err := column.ParseSchema(g.Schema)
	if err != nil {
		t.Fatal(err)
	}
	if last := schema.Fields[len(schema.Fields)-1]; !last.Dynamic || last.ID != 101 {
		t.Errorf("its last field is %+v", last)
	}
	if !strings.Contains(log.String(), "docs") {
		t.Errorf("the log does not say where the schema is from: %s", log.String())
	}
	s.file = stages.GivenSchemas{7: []byte("of a file")}
	if g, err = s.Given(t.Context(), 7); err != nil || g.Doubtful || string(g.Schema) != "of a file" {
		t.Errorf("with a file: %+v, %v", g, err)
	}
}

func TestLoginsToMilvusThatContradictThemselvesAreRefused(t *testing.T) {
	for wrong, f := range map[string]MilvusFlags{
		"--milvus-password": {MilvusUser: "root"},
		"--milvus-token":    {MilvusUser: "root", MilvusPassword: NewSecret("Milvus"), MilvusToken: NewSecret("key")},
		"--milvus-tls":      {MilvusCAFile: "ca.pem"},
	} {
		if err := f.Validate(); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
