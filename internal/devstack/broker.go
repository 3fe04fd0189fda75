package devstack

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// BrokerConfig describes an embedded broker.
type BrokerConfig struct {
	Dir    string // where its log is kept; empty: in memory only
	Listen string // host:port; port 0 or an empty string chooses a free one

	// Advertise is the host:port at which clients are told to find the broker,
	// for a proxy before it; empty: where it listens.
	Advertise string

	Partitions        int           // of topics that a client creates by writing to them; 0: 1
	MinSessionTimeout time.Duration // the shortest session of a group; 0: 100 ms
	ConsumerSession   time.Duration // session of a group of the consumer protocol (KIP-848); 0: 45 s, as in Kafka
	SyncWrites        bool          // every write reaches the disk before it is answered

	Security Security // what it asks of its clients
}

// Broker is an embedded Kafka broker.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
}

// maxMessageBytes is as large as Milvus' brokers are set up for, with room.
const maxMessageBytes = "16777216"

// StartBroker starts a broker; it answers when StartBroker returns. Topics,
// their IDs, offsets and the groups' commits are found again by a broker that
// is started on the same directory.
func StartBroker(cfg BrokerConfig) (*Broker, error) {
	if cfg.MinSessionTimeout == 0 {
		cfg.MinSessionTimeout = 100 * time.Millisecond
	}
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.ListenFn(cfg.listen),
		kfake.AllowAutoTopicCreation(),
		kfake.DefaultNumPartitions(max(cfg.Partitions, 1)),
		kfake.GroupMinSessionTimeout(cfg.MinSessionTimeout),
	}
	configs := map[string]string{"message.max.bytes": maxMessageBytes}
	if cfg.ConsumerSession > 0 {
		configs["group.consumer.session.timeout.ms"] = strconv.FormatInt(cfg.ConsumerSession.Milliseconds(), 10)
		configs["group.consumer.heartbeat.interval.ms"] = strconv.FormatInt(cfg.ConsumerSession.Milliseconds()/10, 10)
	}
	opts = append(append(opts, kfake.BrokerConfigs(configs)), cfg.Security.options()...)
	if cfg.Dir != "" {
		// Absolute, because the embedded bucket moves the working directory.
		dir, err := filepath.Abs(cfg.Dir)
		if err != nil {
			return nil, fmt.Errorf("broker's directory: %w", err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("broker's directory: %w", err)
		}
		opts = append(opts, kfake.DataDir(dir))
	}
	if cfg.SyncWrites {
		opts = append(opts, kfake.SyncWrites())
	}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, fmt.Errorf("start broker on %s: %w", listenAddr(cfg.Listen), err)
	}
	return &Broker{cluster: c, addr: c.ListenAddrs()[0]}, nil
}

// listen opens the broker's address. What the listener says of itself is what
// the broker tells its clients.
func (cfg BrokerConfig) listen(network, _ string) (net.Listener, error) {
	var told net.Addr
	if cfg.Advertise != "" {
		a, err := net.ResolveTCPAddr(network, cfg.Advertise)
		if err != nil {
			return nil, fmt.Errorf("advertised address: %w", err)
		}
		told = a
	}
	l, err := net.Listen(network, listenAddr(cfg.Listen))
	if err != nil || told == nil {
		return l, err
	}
	return advertised{l, told}, nil
}

// advertised is a listener that names another address than its own.
type advertised struct {
	net.Listener
	told net.Addr
}

func (a advertised) Addr() net.Addr { return a.told }

// Addr is the broker's host:port, as it tells its clients.
func (b *Broker) Addr() string { return b.addr }

// Client is how a client of this broker is made.
func (b *Broker) Client() []kgo.Opt { return []kgo.Opt{kgo.SeedBrokers(b.addr)} }

// Cluster gives tests the means to inject faults and to move the log's start.
func (b *Broker) Cluster() *kfake.Cluster { return b.cluster }

// Close stops the broker and writes what is left to its directory.
func (b *Broker) Close() { b.cluster.Close() }

func listenAddr(listen string) string {
	if listen == "" {
		return "127.0.0.1:0"
	}
	return listen
}
