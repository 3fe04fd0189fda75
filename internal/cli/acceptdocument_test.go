package cli_test

import (
	"strings"
	"testing"

	"flowgraph/checkpoints"
)

// The first version of a document, put in the place of the last: nothing is
// stored on top of what is there, and an operator who accepts it has the log
// stored anew, once.
func TestADocumentThatIsOlderThanTheBucketIsGoneOnFrom(t *testing.T) {
	o := newOperated(t)
	before, last := o.verified("--complete"), o.document(vchannel0)
	first := &checkpoints.Document{
		Version: checkpoints.Version, VChannel: last.VChannel, Topic: last.Topic, Partition: last.Partition, TopicID: last.TopicID,
		Epoch: 1, Owner: last.Owner, Home: last.Home, Manifests: new(int64), ReadFrom: checkpoints.Position{LeaderEpoch: -1},
		Seek: checkpoints.Position{LeaderEpoch: -1}, Collections: map[int64]*checkpoints.Collection{}, Segments: map[int64]*checkpoints.Segment{},
	}
	data, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if out := o.done("accept-document", "--vchannel", vchannel0); !strings.Contains(out, "agrees with the document") {
		t.Errorf("of the last version: %s", out)
	}
	if _, err := checkpoints.Replace(t.Context(), o.bucket, checkpoints.DocumentKey(vchannel0), checkpoints.Object{Parts: [][]byte{data}}); err != nil {
		t.Fatal(err)
	}
	o.refused("older than what lies around it", "run", "--until-end")
	o.refused("older than what lies around it", "verify")
	o.refused("there is no vchannel", "accept-document", "--vchannel", "none-0")
	shown := o.refused("nothing was changed", "accept-document", "--vchannel", vchannel0)
	for _, want := range []string{"closed segments of", "DDL events", "read again from offset 0", "A worker that runs now loses"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	if d := o.document(vchannel0); d.Epoch != 1 || d.Unsettled != 0 {
		t.Errorf("it was done without --yes: %+v", d)
	}
	o.done("accept-document", "--vchannel", vchannel0, "--yes")
	if d := o.document(vchannel0); d.Epoch <= last.Epoch || d.Seek.Offset != 0 || d.Unsettled != 0 {
		t.Errorf("accepted as epoch %d after %d: %+v", d.Epoch, last.Epoch, d)
	}
	o.done("run", "--until-end")
	if after := o.verified("--complete"); after.Rows != before.Rows || after.Deletes != before.Deletes {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	o.done("gc", "--delete")
	o.verified("--complete")
}
