package restore

import (
	"errors"

	"flowgraph/internal/milvus"
)

// Errors to be tested with errors.Is.
var (
	// ErrTarget: the collection to restore into is there and cannot take it.
	ErrTarget = errors.New("the target collection does not fit")
	// ErrOccupied: the collection to restore into has rows already.
	ErrOccupied = errors.New("the target collection has rows already")
	// ErrKeys: the target would give the rows other keys.
	ErrKeys = errors.New("the keys would be replaced")
	// ErrFunctions: Milvus would not import rows without what functions compute.
	ErrFunctions = errors.New("the collection has functions")
	// ErrUnderWay: another restore into the same collection is not finished.
	ErrUnderWay = errors.New("another restore into this collection is under way")
	// ErrMilvus: Milvus refused a request, or does not answer.
	ErrMilvus = milvus.ErrMilvus
	// ErrImport: an import failed in Milvus.
	ErrImport = errors.New("import failed")
	// ErrRows: Milvus holds another number of rows than were restored.
	ErrRows = errors.New("the numbers of rows differ")
	// ErrLeft: the rows are restored, but what was staged could not be removed.
	ErrLeft = errors.New("what was staged is still there")
	// ErrArchive: the archive cannot give what was asked for.
	ErrArchive = errors.New("the archive cannot give this")
)
