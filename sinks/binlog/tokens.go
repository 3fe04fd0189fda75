package binlog

import (
	"encoding/binary"
	"fmt"
)

// TokenStats are the statistics of one BM25 function: how many rows and
// tokens there are, and how many rows hold each token. Milvus computes them
// behind the log, so they are read here and never written.
type TokenStats struct {
	Rows, Tokens int64
	Counts       []TokenCount // in the order of the file
}

// TokenCount says how many rows hold a token, which is told by its hash.
type TokenCount struct {
	Token uint32
	Rows  int32
}

const (
	tokenHead  = 4 + 8 + 8 // version, rows, tokens
	tokenEntry = 4 + 4
)

// AreTokenStats tells an object of bm25_stats, whose first four bytes are the
// version 0, from every binlog and every JSON.
func AreTokenStats(b []byte) bool {
	return len(b) >= tokenHead && binary.LittleEndian.Uint32(b) == 0
}

// ReadTokenStats reads an object of bm25_stats, of one flush or the merged one
// with log ID 1: they look the same. It fails with ErrCorrupt.
func ReadTokenStats(b []byte) (*TokenStats, error) {
	if !AreTokenStats(b) || (len(b)-tokenHead)%tokenEntry != 0 {
		return nil, fmt.Errorf("%w: no BM25 statistics are of %d bytes that begin so", ErrCorrupt, len(b))
	}
	le := binary.LittleEndian
	s := &TokenStats{Rows: int64(le.Uint64(b[4:])), Tokens: int64(le.Uint64(b[12:]))}
	if s.Rows < 0 || s.Tokens < 0 {
		return nil, fmt.Errorf("%w: BM25 statistics of %d rows and %d tokens", ErrCorrupt, s.Rows, s.Tokens)
	}
	for b = b[tokenHead:]; len(b) > 0; b = b[tokenEntry:] {
		s.Counts = append(s.Counts, TokenCount{le.Uint32(b), int32(le.Uint32(b[4:]))})
	}
	return s, nil
}
