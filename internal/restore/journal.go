package restore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"flowgraph/checkpoints"
)

// journalKey is where a restore keeps how far it is, under its prefix.
const journalKey = "restore.json"

// journal is how far a restore is. It is stored before every step that must
// not be made twice, so that a restore that broke off goes on.
type journal struct {
	Version    int    `json:"version"`
	Collection int64  `json:"collection,string"` // in the archive
	Until      uint64 `json:"until,string"`
	Plan       string `json:"plan"` // its digest
	Target     string `json:"target"`
	TargetID   int64  `json:"target_id,string"` // in Milvus
	// Before are the rows that partitions of the target had.
	Before  map[string]int64 `json:"before"`
	Imports []*step          `json:"imports"`

	mu    sync.Mutex
	stage Stage
	key   string
	etag  string
}

// step is one import.
type step struct {
	// InPlace: the rows are read in the archive itself, only deletes are staged.
	InPlace bool    `json:"in_place,omitempty"`
	Staged  bool    `json:"staged,omitempty"`
	Asked   bool    `json:"asked,omitempty"` // stored before Milvus is asked
	Task    int64   `json:"task,string,omitempty"`
	Failed  []int64 `json:"failed,omitempty"` // earlier tasks
	Done    bool    `json:"done,omitempty"`
	Rows    int64   `json:"rows,omitempty"` // that Milvus says it imported
}

// loadJournal returns nil if there is none.
func loadJournal(ctx context.Context, stage Stage, prefix string) (*journal, error) {
	key := prefix + journalKey
	data, info, err := stage.Get(ctx, key)
	if errors.Is(err, checkpoints.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j := &journal{stage: stage, key: key, etag: info.ETag}
	if err := json.Unmarshal(data, j); err != nil || j.Version != 1 {
		return nil, fmt.Errorf("%s of version %d is not the journal of a restore: %w", key, j.Version, errors.Join(err, checkpoints.ErrInvalid))
	}
	return j, nil
}

// change alters the journal and stores it; two restores into one collection
// end here.
func (j *journal) change(ctx context.Context, do func()) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	do()
	data, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("%s: %w", j.key, err)
	}
	info, err := j.stage.Put(ctx, j.key, checkpoints.Object{Parts: [][]byte{data}}, checkpoints.Condition{ETag: j.etag, Refusals: 10})
	if errors.Is(err, checkpoints.ErrConflict) {
		return fmt.Errorf("%w: %w", ErrUnderWay, err)
	}
	if err != nil {
		return err
	}
	j.etag = info.ETag
	return nil
}

// knows says whether a task is one of this restore's.
func (j *journal) knows(task int64) bool {
	return slices.ContainsFunc(j.Imports, func(s *step) bool { return s.Task == task || slices.Contains(s.Failed, task) })
}
