package checkpoints

import (
	"fmt"
	"strconv"
	"strings"
)

// CompoundStats is the log ID of a sealed segment's stats object that holds
// the statistics of all its flushes.
const CompoundStats = "1"

// Metadata that every object of a vchannel carries: a key does not tell whose
// epoch it is, and garbage is told from an upload under way by its epoch.
const (
	MetaVChannel = "vchannel"
	MetaEpoch    = "epoch"
)

// Meta is the user metadata of an object that vchannel wrote in epoch.
func Meta(vchannel string, epoch int64) map[string]string {
	return map[string]string{MetaVChannel: vchannel, MetaEpoch: strconv.FormatInt(epoch, 10)}
}

// VChannel names one ordered log: a Kafka topic's partition, and which
// creation of the topic.
type VChannel struct {
	Topic     string
	Partition int32
	TopicID   string
}

// Name is <topic>-<partition>, as Kafka writes it.
func (v VChannel) Name() string { return v.Topic + "-" + strconv.Itoa(int(v.Partition)) }

// Keys are relative to the bucket's root path.

// DocumentPrefix is where the documents of all vchannels lie.
const DocumentPrefix = "checkpoints/"

// DocumentKey is where a vchannel's document lies.
func DocumentKey(vchannel string) string { return DocumentPrefix + vchannel + ".json" }

// BornKey says that the vchannel once had a document.
func BornKey(vchannel string) string { return DocumentPrefix + vchannel + ".born" }

// ManifestPrefix is where the manifests and chunks of all segments lie.
const ManifestPrefix = "segments/"

// ParseManifestKey reads the key of a manifest, or of a chunk with its log ID.
func ParseManifestKey(key string) (r SegmentRef, chunk string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(key, ManifestPrefix), "/")
	if len(parts) != 3 {
		return r, "", false
	}
	name, ok := strings.CutSuffix(parts[2], ".json")
	if !ok {
		return r, "", false
	}
	name, chunk, _ = strings.Cut(name, ".")
	var errs [3]error
	r.Collection, errs[0] = strconv.ParseInt(parts[0], 10, 64)
	r.Partition, errs[1] = strconv.ParseInt(parts[1], 10, 64)
	r.Segment, errs[2] = strconv.ParseInt(name, 10, 64)
	want := ManifestKey(r.Collection, r.Partition, r.Segment)
	if chunk != "" {
		want = ChunkKey(r.Collection, r.Partition, r.Segment, chunk)
	}
	return r, chunk, errs == [3]error{} && key == want
}

// ManifestKey is where a segment lies once it has left the document.
func ManifestKey(collection, partition, segment int64) string {
	return fmt.Sprintf("segments/%d/%d/%d.json", collection, partition, segment)
}

// ChunkKey is where log entries folded out of the document lie. The log ID is
// a fresh one: a number counted per segment would be used again with other
// content after a commit that never landed.
func ChunkKey(collection, partition, segment int64, logID string) string {
	return fmt.Sprintf("segments/%d/%d/%d.%s.json", collection, partition, segment, logID)
}

// EventsPrefix is where the DDL events of all logs of a vchannel lie.
func EventsPrefix(vchannel string) string { return "ddl/" + vchannel + "/" }

// parseEventKey reads the key of a DDL event of a vchannel.
func parseEventKey(vchannel, key string) (topicID string, generation int, offset int64, ok bool) {
	parts := strings.Split(strings.TrimPrefix(key, EventsPrefix(vchannel)), "/")
	if len(parts) != 2 {
		return "", 0, 0, false
	}
	topicID, number, cut := strings.Cut(parts[0], ".")
	if cut {
		var err error
		if generation, err = strconv.Atoi(number); err != nil {
			return "", 0, 0, false
		}
	}
	offset, err := strconv.ParseInt(strings.TrimSuffix(parts[1], ".json"), 10, 64)
	return topicID, generation, offset, err == nil && key == EventKey(vchannel, LogName(topicID, generation), offset)
}

// EventPrefix is where the DDL events of one log lie, in offset order.
func EventPrefix(vchannel, topicID string) string {
	return fmt.Sprintf("ddl/%s/%s/", vchannel, topicID)
}

// EventKey is where one DDL event lies once it has left the document.
func EventKey(vchannel, topicID string, offset int64) string {
	return fmt.Sprintf("%s%020d.json", EventPrefix(vchannel, topicID), offset)
}

// QuarantinePrefix is where the bad records of one log lie, in offset order.
func QuarantinePrefix(vchannel, topicID string) string {
	return fmt.Sprintf("quarantine/%s/%s/", vchannel, topicID)
}

// QuarantineKey is where one bad record lies. The topic ID keeps the records
// of a re-created topic apart.
func QuarantineKey(vchannel, topicID string, offset int64) string {
	return fmt.Sprintf("%s%020d.json", QuarantinePrefix(vchannel, topicID), offset)
}

// InsertLogKey is the binlog of one field of one flush.
func InsertLogKey(collection, partition, segment, field int64, logID string) string {
	return fmt.Sprintf("insert_log/%d/%d/%d/%d/%s", collection, partition, segment, field, logID)
}

// DeltaLogKey is the delete log of one flush.
func DeltaLogKey(collection, partition, segment int64, logID string) string {
	return fmt.Sprintf("delta_log/%d/%d/%d/%s", collection, partition, segment, logID)
}

// StatsLogKey is the key statistics of one flush, or with CompoundStats of
// the whole segment.
func StatsLogKey(collection, partition, segment, pkField int64, logID string) string {
	return fmt.Sprintf("stats_log/%d/%d/%d/%d/%s", collection, partition, segment, pkField, logID)
}

// DataKeys lists the objects of one flush of the segment: for rows a binlog a
// field, ascending, and the key statistics; for deletes one delta log.
func (s *Segment) DataKeys(logID string) []string {
	if s.Level == L0 {
		return []string{DeltaLogKey(s.Collection, s.Partition, s.ID, logID)}
	}
	keys := make([]string, 0, len(s.Fields)+1)
	for _, f := range s.Fields {
		keys = append(keys, InsertLogKey(s.Collection, s.Partition, s.ID, f, logID))
	}
	if s.PKField != 0 {
		keys = append(keys, StatsLogKey(s.Collection, s.Partition, s.ID, s.PKField, logID))
	}
	return keys
}

// CompoundKey is where a final segment of rows has the key statistics of all
// its flushes in one object; "" if it has none. The object is there when the
// manifest is: while the document still holds the segment, it need not be.
func (s *Segment) CompoundKey() string {
	if s.State < Flushed || s.Level != L1 || s.PKField == 0 || s.Rows == 0 {
		return ""
	}
	return StatsLogKey(s.Collection, s.Partition, s.ID, s.PKField, CompoundStats)
}

// ManifestKey is where the segment lies once it has left the document.
func (s *Segment) ManifestKey() string { return ManifestKey(s.Collection, s.Partition, s.ID) }

// ChunkKeys lists the objects of the segment's folded log entries.
func (s *Segment) ChunkKeys() []string {
	keys := make([]string, 0, len(s.Chunks))
	for _, c := range s.Chunks {
		keys = append(keys, ChunkKey(s.Collection, s.Partition, s.ID, c))
	}
	return keys
}
