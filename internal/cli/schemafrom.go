package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/milvus"
	"flowgraph/stages"
)

// schemaIn is how long a Milvus may take to tell of a collection: the
// vchannel's pipeline stands meanwhile, a later try is as good.
const schemaIn = 15 * time.Second

// schemas are what a worker asks for collections that are older than the log:
// a file, then a Milvus. Either may be missing.
type schemas struct {
	file   stages.GivenSchemas
	milvus *milvus.Client
	log    zerolog.Logger
}

// Given implements stages.SchemaSource.
func (s *schemas) Given(ctx context.Context, collection int64) (*stages.Given, error) {
	if given, err := s.file.Given(ctx, collection); err == nil {
		return given, nil
	}
	if s.milvus == nil {
		return nil, fmt.Errorf("%w: its creation is no longer in the log; give its schema with --schema-file, or let --schema-from ask a Milvus", stages.ErrUnknownCollection)
	}
	ctx, cancel := context.WithTimeout(ctx, schemaIn)
	defer cancel()
	known, err := s.milvus.Lookup(ctx, collection)
	switch {
	case errors.Is(err, milvus.ErrNotExist):
		return nil, fmt.Errorf("%w: its creation is no longer in the log, and the Milvus at %s does not have it: "+
			"another Milvus wrote this log, or it was dropped since; give its schema with --schema-file", stages.ErrUnknownCollection, s.milvus.Address())
	case errors.Is(err, milvus.ErrSchema):
		return nil, fmt.Errorf("%w: give it with --schema-file: %w", stages.ErrUnknownCollection, err)
	case err != nil: // also a refusal: logins and privileges are put right in Milvus too
		return nil, fmt.Errorf("%w: --schema-from: %w", stages.ErrNoAnswer, err)
	}
	raw, err := proto.Marshal(known.Schema)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", known.Name, err)
	}
	s.log.Info().Int64("collection", collection).Str("name", known.Name).Int("partitions", len(known.Partitions)).Str("milvus", s.milvus.Address()).
		Msg("the creation of a collection is not in the log; its schema is the one that Milvus has now")
	return &stages.Given{Schema: raw, Name: known.Name, Partitions: known.Partitions, Doubtful: true, From: "the Milvus at " + s.milvus.Address()}, nil
}

// schemas makes the source that the configuration asks for; close it in the
// end.
func (c RunConfig) schemas(log zerolog.Logger) (*schemas, error) {
	s := &schemas{log: log}
	if c.SchemaFile != "" {
		var err error
		if s.file, err = readSchemas(c.SchemaFile); err != nil {
			return nil, err
		}
	}
	if c.SchemaFrom != "" {
		var err error
		if s.milvus, err = c.dial(c.SchemaFrom, ""); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *schemas) close() error {
	if s.milvus == nil {
		return nil
	}
	return s.milvus.Close()
}
