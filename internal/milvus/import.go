package milvus

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
)

// ImportBinlogs asks Milvus to import what lies under two prefixes of its
// bucket. The second may be empty, but must be named: Milvus tells an import
// of binlogs from others by the two. Rows and deletes later than endMS, in
// milliseconds, are left out; 0 is no end.
func (m *Client) ImportBinlogs(ctx context.Context, collection, partition, inserts, deletes string, endMS uint64) (task int64, err error) {
	options := []*commonpb.KeyValuePair{{Key: "backup", Value: "true"}, {Key: "skip_disk_quota_check", Value: "true"}}
	if endMS > 0 {
		options = append(options, &commonpb.KeyValuePair{Key: "end_ts", Value: strconv.FormatUint(endMS, 10)})
	}
	q := &milvuspb.ImportRequest{
		DbName: m.cfg.Database, CollectionName: collection, PartitionName: partition, Files: []string{inserts, deletes}, Options: options,
	}
	r, err := ask(ctx, m, "import into "+collection, m.service.Import, q)
	if err != nil {
		return 0, err
	}
	if len(r.GetTasks()) != 1 {
		return 0, fmt.Errorf("%w at %s: import into %s: %d tasks instead of one", ErrMilvus, m.cfg.Address, collection, len(r.GetTasks()))
	}
	return r.GetTasks()[0], nil
}

// Imported is how far an import is.
type Imported struct {
	Done, Failed bool
	Percent      int64
	Rows         int64
	Reason       string // why it failed
}

// State asks how far an import is.
func (m *Client) State(ctx context.Context, task int64) (Imported, error) {
	r, err := ask(ctx, m, fmt.Sprintf("follow import %d", task), m.service.GetImportState, &milvuspb.GetImportStateRequest{Task: task})
	if err != nil {
		return Imported{}, err
	}
	s := Imported{Rows: r.GetRowCount(), Reason: param(r.GetInfos(), "failed_reason")}
	s.Percent, _ = strconv.ParseInt(param(r.GetInfos(), "progress_percent"), 10, 64) // only for the bar
	switch r.GetState() {
	case commonpb.ImportState_ImportCompleted:
		s.Done = true
	case commonpb.ImportState_ImportFailed, commonpb.ImportState_ImportFailedAndCleaned:
		s.Failed = true
	}
	return s, nil
}

// Task is an import that Milvus knows.
type Task struct {
	ID    int64
	files string // separated by commas
}

// Reads says whether it imports from under a prefix. A Milvus that does not
// tell the files of an import is believed to.
func (t Task) Reads(prefix string) bool { return t.files == "" || strings.Contains(t.files, prefix) }

// Tasks lists the imports into a collection that Milvus still knows.
func (m *Client) Tasks(ctx context.Context, collection string) ([]Task, error) {
	r, err := ask(ctx, m, "list the imports into "+collection, m.service.ListImportTasks, &milvuspb.ListImportTasksRequest{DbName: m.cfg.Database, CollectionName: collection})
	if err != nil {
		return nil, err
	}
	var list []Task
	for _, t := range r.GetTasks() {
		list = append(list, Task{t.GetId(), param(t.GetInfos(), "files")})
	}
	return list, nil
}
