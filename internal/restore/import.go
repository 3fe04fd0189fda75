package restore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
)

// importBinlogs asks Milvus to import what is staged under two prefixes of its
// bucket. The second may be empty, but must be named: Milvus tells an import
// of binlogs from others by the two.
func (m *Milvus) importBinlogs(ctx context.Context, collection, partition, inserts, deletes string, endMS uint64) (task int64, err error) {
	options := []*commonpb.KeyValuePair{{Key: "backup", Value: "true"}, {Key: "skip_disk_quota_check", Value: "true"}}
	if endMS > 0 {
		options = append(options, &commonpb.KeyValuePair{Key: "end_ts", Value: strconv.FormatUint(endMS, 10)})
	}
	q := &milvuspb.ImportRequest{
		DbName: m.cfg.Database, CollectionName: collection, PartitionName: partition, Files: []string{inserts, deletes}, Options: options,
	}
	r, err := ask(ctx, m, "import into "+collection, m.client.Import, q)
	if err != nil {
		return 0, err
	}
	if len(r.GetTasks()) != 1 {
		return 0, fmt.Errorf("%w at %s: import into %s: %d tasks instead of one", ErrMilvus, m.cfg.Address, collection, len(r.GetTasks()))
	}
	return r.GetTasks()[0], nil
}

// imported is how far an import is.
type imported struct {
	done, failed bool
	percent      int64
	rows         int64
	reason       string
}

func (m *Milvus) state(ctx context.Context, task int64) (imported, error) {
	r, err := ask(ctx, m, fmt.Sprintf("follow import %d", task), m.client.GetImportState, &milvuspb.GetImportStateRequest{Task: task})
	if err != nil {
		return imported{}, err
	}
	s := imported{rows: r.GetRowCount(), reason: param(r.GetInfos(), "failed_reason")}
	s.percent, _ = strconv.ParseInt(param(r.GetInfos(), "progress_percent"), 10, 64) // only for the bar
	switch r.GetState() {
	case commonpb.ImportState_ImportCompleted:
		s.done = true
	case commonpb.ImportState_ImportFailed, commonpb.ImportState_ImportFailedAndCleaned:
		s.failed = true
	}
	return s, nil
}

// listed is an import that Milvus knows.
type listed struct {
	id    int64
	files string // separated by commas
}

// reads says whether it imports from under a prefix. A Milvus that does not
// tell the files of an import is believed to.
func (l listed) reads(prefix string) bool { return l.files == "" || strings.Contains(l.files, prefix) }

// tasks lists the imports into a collection that Milvus still knows.
func (m *Milvus) tasks(ctx context.Context, collection string) ([]listed, error) {
	r, err := ask(ctx, m, "list the imports into "+collection, m.client.ListImportTasks, &milvuspb.ListImportTasksRequest{DbName: m.cfg.Database, CollectionName: collection})
	if err != nil {
		return nil, err
	}
	var list []listed
	for _, t := range r.GetTasks() {
		list = append(list, listed{t.GetId(), param(t.GetInfos(), "files")})
	}
	return list, nil
}
