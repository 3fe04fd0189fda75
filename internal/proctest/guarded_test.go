//go:build unix

package proctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// guardedUsers are how many users Kafka knows: each command has one of its
// own, since a right that was there once may be remembered.
const guardedUsers = 80

const (
	guardedGroup  = "flowgraph"
	guardedRegion = "us-east-1"
)

// guarded are an Apache Kafka and a MinIO where nobody may do anything who is
// not allowed to.
type guarded struct {
	*real
	login  string // listener where users log in
	users  int    // that were given away
	topics []string
	admin  *kadm.Client  // may do all
	owner  *minio.Client // too
}

func newGuarded(t *testing.T, topics ...string) *guarded {
	g := &guarded{login: freeAddress(t), topics: topics}
	g.real = newRealWith(t, "", func(r *real) {
		stored(t, filepath.Join(r.dir, "kafka", "more.properties"), g.properties(r))
	})
	client := must(kgo.NewClient(kgo.SeedBrokers(g.broker())))
	t.Cleanup(client.Close)
	g.admin = kadm.NewClient(client)
	g.owner = must(minio.New(g.store(), &minio.Options{Creds: credentials.NewStaticV4(access, access, "")}))
	return g
}

func (g *guarded) properties(r *real) string {
	users := "org.apache.kafka.common.security.plain.PlainLoginModule required"
	for n := range guardedUsers {
		users += fmt.Sprintf(` user_%s="%s"`, userName(n), kafkaPassword)
	}
	return strings.Join([]string{
		fmt.Sprintf("listeners=CLIENTS://%s,QUORUM://%s,USERS://%s", r.brokers, r.controller, g.login),
		fmt.Sprintf("advertised.listeners=CLIENTS://%s,USERS://%s", r.brokers, g.login),
		"listener.security.protocol.map=CLIENTS:PLAINTEXT,QUORUM:PLAINTEXT,USERS:SASL_PLAINTEXT",
		"listener.name.users.sasl.enabled.mechanisms=PLAIN",
		"listener.name.users.plain.sasl.jaas.config=" + users + ";",
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS", "",
	}, "\n")
}

func userName(n int) string { return fmt.Sprintf("user%d", n) }

// kafkaUser is the login of a new user with these rights and no others.
func (g *guarded) kafkaUser(rights []right) []string {
	g.t.Helper()
	if g.users++; g.users > guardedUsers {
		g.t.Fatalf("Kafka knows %d users only", guardedUsers)
	}
	name := userName(g.users - 1)
	for _, r := range rights {
		acl := kadm.NewACLs().Allow("User:" + name).AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral).
			Operations(must(kmsg.ParseACLOperation(r.operation)))
		if r.on == "group" {
			acl = acl.Groups(guardedGroup)
		} else {
			acl = acl.Topics(g.topics...)
		}
		for _, result := range must(g.admin.CreateACLs(g.t.Context(), acl)) {
			if result.Err != nil {
				g.t.Fatalf("allow %s on %s: %v", r.operation, r.on, result.Err)
			}
		}
	}
	if len(rights) > 0 {
		await(g.t, saying("the rights of %s do not come into force", name), func() bool { return g.inForce(name, len(rights)) })
	}
	return []string{"--brokers=" + g.login, "--kafka-sasl=plain", "--kafka-user=" + name, "--kafka-password=" + kafkaPassword}
}

// inForce says whether the broker knows of ACLs for so many rights.
func (g *guarded) inForce(user string, rights int) bool {
	filter := kadm.NewACLs().Allow("User:" + user).AllowHosts().ResourcePatternType(kadm.ACLPatternAny).AnyResource().Operations(kadm.OpAny)
	n := 0
	for _, result := range must(g.admin.DescribeACLs(g.t.Context(), filter)) {
		n += len(result.Described)
	}
	return n >= rights
}

// bucketUser are keys that may do what a policy allows, and nothing else.
func (r *real) bucketUser(policy string) []string {
	r.t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(policy)); err != nil {
		r.t.Fatal(err)
	}
	role, err := credentials.NewSTSAssumeRole("http://"+r.store(), credentials.STSAssumeRoleOptions{
		AccessKey: access, SecretKey: access, Policy: compact.String(), DurationSeconds: 3600,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	keys, err := role.GetWithContext(nil)
	if err != nil {
		r.t.Fatalf("keys for %s: %v", policy, err)
	}
	return []string{
		"--s3-endpoint=" + r.store(), "--s3-bucket=" + bucketName, "--s3-region=" + guardedRegion,
		"--s3-access-key=" + keys.AccessKeyID, "--s3-secret-key=" + keys.SecretAccessKey, "--s3-session-token=" + keys.SessionToken,
	}
}

// keys lists what the bucket holds under a prefix.
func (g *guarded) keys(prefix string) (all []string) {
	g.t.Helper()
	for info := range g.owner.ListObjects(g.t.Context(), bucketName, minio.ListObjectsOptions{Prefix: "files/" + prefix, Recursive: true}) {
		if info.Err != nil {
			g.t.Fatal(info.Err)
		}
		all = append(all, info.Key)
	}
	return all
}

// left puts an object as a worker of an epoch left it, so long ago.
func (g *guarded) left(key string, meta map[string]string, age time.Duration) {
	g.t.Helper()
	o := minio.PutObjectOptions{UserMetadata: meta}
	if age > 0 {
		o.Internal.SourceMTime, o.Internal.ReplicationRequest = time.Now().Add(-age), true
	}
	if _, err := g.owner.PutObject(g.t.Context(), bucketName, "files/"+key, strings.NewReader("{}"), 2, o); err != nil {
		g.t.Fatal(err)
	}
}

// remade deletes a topic and makes it anew.
func (g *guarded) remade(topic string) {
	g.t.Helper()
	if _, err := g.admin.DeleteTopic(g.t.Context(), topic); err != nil {
		g.t.Fatal(err)
	}
	await(g.t, saying("topic %s cannot be made anew", topic), func() bool {
		_, err := g.admin.CreateTopic(g.t.Context(), 1, 1, nil, topic)
		return err == nil
	})
}
