package cli

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/reread"
	"flowgraph/stages/column"
)

// readSchemas reads a JSON object of collection IDs to schemas, each in the
// JSON form of schemapb.CollectionSchema, and returns them serialized.
func readSchemas(file string) (map[int64][]byte, error) {
	data, err := reread.File(file)
	if err != nil {
		return nil, fmt.Errorf("--schema-file: %w", err)
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("--schema-file %s must be a JSON object of collection IDs to schemas: %w", file, err)
	}
	schemas := map[int64][]byte{}
	for key, raw := range entries {
		id, err := strconv.ParseInt(key, 10, 64)
		if err != nil || id <= 0 {
			return nil, fmt.Errorf("--schema-file %s: %q is not the ID of a collection", file, key)
		}
		var schema schemapb.CollectionSchema
		if err := protojson.Unmarshal(raw, &schema); err != nil {
			return nil, fmt.Errorf("--schema-file %s: collection %d: %w", file, id, err)
		}
		if _, err := column.NewSchema(&schema); err != nil {
			return nil, fmt.Errorf("--schema-file %s: collection %d: %w", file, id, err)
		}
		if schemas[id], err = proto.Marshal(&schema); err != nil {
			return nil, fmt.Errorf("--schema-file %s: collection %d: %w", file, id, err)
		}
	}
	return schemas, nil
}
