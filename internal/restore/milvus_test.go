package restore_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/membucket"
	"flowgraph/internal/milvus"
)

// fakeMilvus answers as a Milvus 2.3.5 does, and imports what is staged by the
// rules of its importer.
type fakeMilvus struct {
	milvuspb.UnimplementedMilvusServiceServer
	t      *testing.T
	bucket *membucket.Bucket // holds the stage alone
	client *milvus.Client

	mu          sync.Mutex
	version     string
	collections map[string]*fakeCollection
	tasks       map[int64]*milvuspb.GetImportStateResponse
	stuck       int // so many looks at imports see them begun, and no more
	next        int64
	sizes       []int // segments of each import
	silent      bool  // lists imports without their files, as 2.4 and later do
	forgetful   bool  // lists none
	// trouble, called with the request's name before and after it is done,
	// makes it fail.
	trouble func(request string, done bool) error
}

type fakeCollection struct {
	id         int64
	schema     *schemapb.CollectionSchema
	properties []*commonpb.KeyValuePair
	rows       map[string][]string // by partition
}

func newMilvus(t *testing.T) *fakeMilvus {
	f := &fakeMilvus{
		t: t, bucket: membucket.New(), version: "v2.3.5", next: 1000,
		collections: map[string]*fakeCollection{}, tasks: map[int64]*milvuspb.GetImportStateResponse{},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(f.intercept))
	milvuspb.RegisterMilvusServiceServer(server, f)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	if f.client, err = milvus.Dial(milvus.Config{Address: l.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.client.Close() })
	return f
}

func (f *fakeMilvus) intercept(ctx context.Context, q any, info *grpc.UnaryServerInfo, do grpc.UnaryHandler) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := info.FullMethod[strings.LastIndex(info.FullMethod, "/")+1:]
	if f.trouble != nil {
		if err := f.trouble(name, false); err != nil {
			return nil, err
		}
	}
	r, err := do(ctx, q)
	if f.trouble != nil && err == nil {
		err = f.trouble(name, true)
	}
	return r, err
}

func ok() *commonpb.Status { return &commonpb.Status{} }

func (f *fakeMilvus) GetVersion(context.Context, *milvuspb.GetVersionRequest) (*milvuspb.GetVersionResponse, error) {
	return &milvuspb.GetVersionResponse{Status: ok(), Version: f.version}, nil
}

func (f *fakeMilvus) HasCollection(_ context.Context, q *milvuspb.HasCollectionRequest) (*milvuspb.BoolResponse, error) {
	return &milvuspb.BoolResponse{Status: ok(), Value: f.collections[q.GetCollectionName()] != nil}, nil
}

func (f *fakeMilvus) CreateCollection(_ context.Context, q *milvuspb.CreateCollectionRequest) (*commonpb.Status, error) {
	s := new(schemapb.CollectionSchema)
	if err := proto.Unmarshal(q.GetSchema(), s); err != nil {
		return nil, err
	}
	for i, field := range s.GetFields() {
		if field.GetFieldID() != 0 || field.GetIsDynamic() {
			return &commonpb.Status{Code: 1100, Reason: "fields are numbered by the server"}, nil
		}
		field.FieldID = int64(100 + i)
	}
	f.next++
	c := &fakeCollection{id: f.next, schema: s, properties: q.GetProperties(), rows: map[string][]string{"_default": nil}}
	for i := range q.GetNumPartitions() {
		c.rows[fmt.Sprintf("_default_%d", i)] = nil
	}
	f.collections[q.GetCollectionName()] = c
	return ok(), nil
}

func (f *fakeMilvus) DescribeCollection(_ context.Context, q *milvuspb.DescribeCollectionRequest) (*milvuspb.DescribeCollectionResponse, error) {
	c := f.collections[q.GetCollectionName()]
	return &milvuspb.DescribeCollectionResponse{Status: ok(), CollectionID: c.id, Schema: c.schema, Properties: c.properties}, nil
}

func (f *fakeMilvus) ShowPartitions(_ context.Context, q *milvuspb.ShowPartitionsRequest) (*milvuspb.ShowPartitionsResponse, error) {
	return &milvuspb.ShowPartitionsResponse{Status: ok(), PartitionNames: slices.Sorted(maps.Keys(f.collections[q.GetCollectionName()].rows))}, nil
}

func (f *fakeMilvus) CreatePartition(_ context.Context, q *milvuspb.CreatePartitionRequest) (*commonpb.Status, error) {
	f.collections[q.GetCollectionName()].rows[q.GetPartitionName()] = nil
	return ok(), nil
}

func (f *fakeMilvus) GetPartitionStatistics(_ context.Context, q *milvuspb.GetPartitionStatisticsRequest) (*milvuspb.GetPartitionStatisticsResponse, error) {
	n := len(f.collections[q.GetCollectionName()].rows[q.GetPartitionName()])
	return &milvuspb.GetPartitionStatisticsResponse{Status: ok(), Stats: []*commonpb.KeyValuePair{{Key: "row_count", Value: strconv.Itoa(n)}}}, nil
}

func (f *fakeMilvus) Import(_ context.Context, q *milvuspb.ImportRequest) (*milvuspb.ImportResponse, error) {
	c := f.collections[q.GetCollectionName()]
	f.next++
	task := &milvuspb.GetImportStateResponse{
		Status: ok(), Id: f.next, State: commonpb.ImportState_ImportCompleted,
		Infos: []*commonpb.KeyValuePair{{Key: "files", Value: strings.Join(q.GetFiles(), ",")}, {Key: "collection", Value: q.GetCollectionName()}},
	}
	f.tasks[task.Id] = task
	rows, err := f.importFiles(c, q)
	if err != nil {
		task.State = commonpb.ImportState_ImportFailed
		task.Infos = append(task.Infos, &commonpb.KeyValuePair{Key: "failed_reason", Value: err.Error()})
	} else {
		c.rows[q.GetPartitionName()] = append(c.rows[q.GetPartitionName()], rows...)
		task.RowCount = int64(len(rows))
	}
	return &milvuspb.ImportResponse{Status: ok(), Tasks: []int64{task.Id}}, nil
}

func (f *fakeMilvus) GetImportState(_ context.Context, q *milvuspb.GetImportStateRequest) (*milvuspb.GetImportStateResponse, error) {
	if f.stuck--; f.stuck >= 0 {
		return &milvuspb.GetImportStateResponse{Status: ok(), Id: q.GetTask(), State: commonpb.ImportState_ImportStarted}, nil
	}
	return f.tasks[q.GetTask()], nil
}

func (f *fakeMilvus) ListImportTasks(_ context.Context, q *milvuspb.ListImportTasksRequest) (*milvuspb.ListImportTasksResponse, error) {
	r := &milvuspb.ListImportTasksResponse{Status: ok()}
	for _, task := range f.tasks {
		if task.GetInfos()[1].GetValue() != q.GetCollectionName() || f.forgetful {
			continue
		}
		if f.silent {
			task = &milvuspb.GetImportStateResponse{Status: ok(), Id: task.GetId(), State: task.GetState()}
		}
		r.Tasks = append(r.Tasks, task)
	}
	return r, nil
}
