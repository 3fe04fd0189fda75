// Package roundtrip takes rows of every type the whole way: as a Milvus sends
// them, in either form of its log, through the real flow into the files of a
// bucket in memory, and back through the archive's readers. What comes back is
// held against what was sent, and against the log by the archive's oracle.
package roundtrip
