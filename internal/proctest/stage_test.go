//go:build unix

package proctest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	archiveBucket = "an-archive"
	listBoth      = `{"Effect": "Allow", "Action": "s3:ListBucket", "Resource": ["arn:aws:s3:::an-archive", "arn:aws:s3:::a-bucket"]}`
	listOne       = `{"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::an-archive"}`
	getArchive    = `{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::an-archive/archive/*"}`
	changeStage   = `{"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"], "Resource": "arn:aws:s3:::a-bucket/flowgraph-restore/*"}`
	fillStage     = `{"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"], "Resource": "arn:aws:s3:::a-bucket/flowgraph-restore/*"}`
)

// The archive is in a bucket of its own, so that rights on one do not stand in
// for those on the other. The sentence of the README on restore is run.
func TestARestoreNeedsOtherRightsThanTheReadmeSays(t *testing.T) {
	m := newMilvus(t)
	owner := must(minio.New(m.stores, &minio.Options{Creds: credentials.NewStaticV4(access, access, "")}))
	if err := owner.MakeBucket(t.Context(), archiveBucket, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	m.client("writer", "write", m.notes(), fmt.Sprint(options.seed)).exits(0)
	spawn(t, m.dir, "worker", binary(), append([]string{"run", "--until-end", "--brokers=" + m.brokers, "--topics=/by-dev-rootcoord-dml_[0-9]+/",
		"--listen=", "--s3-endpoint=" + m.stores, "--s3-bucket=" + archiveBucket, "--s3-root=" + archiveRoot,
		"--s3-access-key=" + access, "--s3-secret-key=" + access}, quick()...)...).exits(0)

	m.restoreAs("_all", 0, "rows into types_all", listBoth, getArchive, changeStage)
	m.restoreAs("_list", 1, "all 78 rows are restored into types_list, but what was staged is still there", listOne, getArchive, changeStage)
	m.restoreAs("_delete", 1, "all 78 rows are restored into types_delete, but what was staged is still there", listBoth, getArchive, fillStage)
	m.restoreAs("_delete", 0, "rows into types_delete", listBoth, getArchive, changeStage) // removes it
	m.restoreAs("_read", 1, "403 AccessDenied", listBoth, changeStage)
}

// restoreAs restores with keys that may do what the statements allow.
func (m *realMilvus) restoreAs(suffix string, want int, says string, statements ...string) {
	m.t.Helper()
	policy := `{"Version": "2012-10-17", "Statement": [` + strings.Join(statements, ", ") + `]}`
	args := append([]string{"restore", "--milvus=127.0.0.1:" + m.port, "--collection=types", "--as=types" + suffix,
		fmt.Sprintf("--until=%d", m.moments()[2].Until), "--s3-root=" + archiveRoot, "--stage-bucket=" + bucketName}, m.bucketUser(policy)...)
	c := spawn(m.t, m.dir, fmt.Sprintf("restore%s-%d", suffix, want), binary(), append(args, "--s3-bucket="+archiveBucket)...)
	if code := c.exit(); code != want || !strings.Contains(c.tail(20), says) {
		m.t.Errorf("%v: exit code %d, or %q is not in\n%s", statements, code, says, c.tail(20))
	}
}
