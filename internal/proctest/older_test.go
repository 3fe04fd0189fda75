//go:build unix

package proctest

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// What retention has taken of the log is gone, the creation of collections
// with it: their schemas are asked of the Milvus itself. Copies have the rows
// written since.
func TestARealMilvusTellsTheSchemasThatItsLogHasLost(t *testing.T) {
	m := newMilvus(t)
	m.client("older", "older").exits(0)
	m.truncate()
	m.client("later", "later", m.notes()).exits(0)

	last := m.moments()[0]
	worker := m.flowgraph("worker", append([]string{"run", "--brokers=" + m.brokers, "--topics=/by-dev-rootcoord-dml_[0-9]+/", "--listen=",
		"--schema-from=127.0.0.1:" + m.port}, quick()...)...)
	m.complete(worker, last.Until)
	for name := range last.Collections {
		c := m.restore(name, "_again", last.Until)
		if code := c.exit(); code != 0 || !c.logged("is older than its log") {
			t.Errorf("restore of %s: exit code %d\n%s", name, code, c.tail(12))
		}
	}
	compared := m.client("compare", "compare", m.notes(), "0", "_again")
	if code := compared.exit(); code != 0 || strings.Count(strings.Join(strings.Fields(compared.tail(60)), " "), "rows are equal") < len(last.Collections) {
		t.Errorf("exit code %d:\n%s", code, compared.tail(60))
	}
	worker.kill()
}

// truncate deletes all records that Milvus has written so far.
func (m *realMilvus) truncate() {
	client, err := kgo.NewClient(kgo.SeedBrokers(m.brokers))
	if err != nil {
		m.t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ends, err := admin.ListEndOffsets(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	to := kadm.Offsets{}
	ends.Each(func(o kadm.ListedOffset) {
		if strings.Contains(o.Topic, "-rootcoord-dml_") {
			to.AddOffset(o.Topic, o.Partition, o.Offset, -1)
		}
	})
	r, err := admin.DeleteRecords(m.t.Context(), to)
	if err == nil {
		err = r.Error()
	}
	if err != nil {
		m.t.Fatal(err)
	}
}
