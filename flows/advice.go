package flows

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// counsel is what an operator can do about an error.
type counsel struct {
	err    error
	advice string
}

// Advice says what an operator can do about an error of a flow or of the
// Kafka client, as a sentence or two; "" if nothing is known that helps.
func Advice(err error) string {
	if err == nil {
		return ""
	}
	for _, list := range [][]counsel{flowCounsel(), kafkaCounsel()} {
		for _, c := range list {
			if errors.Is(err, c.err) {
				return c.advice
			}
		}
	}
	return connectionAdvice(err)
}

// flowCounsel is for what stops a vchannel, the more special errors first.
func flowCounsel() []counsel {
	return []counsel{
		{stages.ErrBadRecord, "The vchannel stops at a record that cannot be read, because of --on-bad-record stop. Start the worker with --on-bad-record quarantine: it keeps the record under quarantine/ in the bucket and goes on. Nothing behind it is lost while the log still has it."},
		{stages.ErrUnknownCollection, "The collection's creation is no longer in the log. Give its schema with --schema-file and start the worker again."},
		{stages.ErrEncrypted, "Only its Milvus can read an encrypted record. Turn encryption of the log off, or leave this topic out of --topics."},
		{ErrCutBack, "Kafka lost the end of the log after it was read, as an unclean election does, and gives its offsets to other records. flowgraph accept-log --vchannel V shows where, and with --yes goes on from there; what is stored stays. Then start the worker again."},
		{ErrDataLoss, "The log was shortened, by its retention or by hand, before it was read. Start the worker with --on-gap continue to go on behind the gap, and raise the topic's retention.ms."},
		{checkpoints.ErrTopicRecreated, "The topic was deleted and made anew. flowgraph accept-log --vchannel V --yes goes on at the beginning of the new log; what is stored stays."},
		{checkpoints.ErrDocumentLost, "Somebody removed the checkpoint document from the bucket. Bring back its very last version. If there is only an older one, flowgraph accept-document says what it would take to go on from it."},
		{checkpoints.ErrOlder, "The checkpoint document is an older version of what the bucket had, or the bucket is a copy that was taken while workers ran. Nothing was written. Bring back the document's very last version, or copy again while no worker runs. If neither can be had, flowgraph accept-document --vchannel V shows what goes on from this one: what lies ahead of it is removed and read from the log again."},
		{checkpoints.ErrIncomplete, "The bucket is a copy whose documents are newer than the rest, so that rows are missing from it. Nothing was written. Copy what lies under segments/, the *_log/ and ddl/ again, and start the worker. If the original is gone, flowgraph accept-document --vchannel V goes on without them."},
		{checkpoints.ErrNewerVersion, "A newer release has written this. Start that release, or a later one."},
		{checkpoints.ErrInvalid, "The stored document is damaged. Bring back the last whole version of the object that the error names, not an older one, and run flowgraph verify before the worker goes on."},
		{checkpoints.ErrEpoch, "The document's epoch is out of range. Bring back the document's last version with a right one, and run flowgraph verify before the worker goes on."},
		{checkpoints.ErrBackwards, "This is a fault of the program, found before it was stored. Restart the worker, and report the error with the log."},
		{checkpoints.ErrChange, "This is a fault of the program, found before it was stored. Restart the worker, and report the error with the log."},
		{checkpoints.ErrFenced, "Another worker has claimed this vchannel. In a group it comes back by itself if the partition is still ours; if it goes on, look for a worker of another group or with an explicit list that reads the same topics into the same bucket."},
		{checkpoints.ErrRefused, "The store answers and refuses. Check that the bucket exists and that the access key may get, put, list and delete under the root path."},
		{errNoTopic, "Check --topics. Kafka does not show a topic to a user who may not DESCRIBE it: allow DESCRIBE and READ. New topics are found within 10 seconds."},
	}
}

// kafkaCounsel is for what brokers answer.
func kafkaCounsel() []counsel {
	return []counsel{
		{kerr.TopicAuthorizationFailed, "The Kafka user may not read this topic. Allow DESCRIBE and READ on it (kafka-acls --add --operation Read --topic T); the worker goes on by itself."},
		{kerr.GroupAuthorizationFailed, "The Kafka user may not use this consumer group. Allow READ on it (kafka-acls --add --operation Read --group G), or choose another --group."},
		{kerr.ClusterAuthorizationFailed, "The Kafka user lacks a right on the cluster. Ask for DESCRIBE on the cluster."},
		{kerr.SaslAuthenticationFailed, "The broker refuses user name or password. Check them, and the SASL mechanism, in the configuration."},
		{kerr.UnsupportedSaslMechanism, "The broker does not offer this SASL mechanism. Choose one that its listener has."},
		{kerr.IllegalSaslState, "The broker expects another way to log in. Check whether its listener wants SASL."},
		{kerr.UnknownTopicOrPartition, "The topic or partition does not exist, or the Kafka user may not see it. Check --topics and the rights to it."},
		{kerr.UnknownTopicID, "The topic was deleted, or made anew. If it stays so, see flowgraph accept-log."},
		{kerr.OffsetOutOfRange, "The log no longer holds this position. The next try compares it with the log's bounds and says what is lost."},
		{kerr.FencedInstanceID, "Another worker has the same --instance-id. Give each its own."},
	}
}

// connectionAdvice is for connections that do not come about.
func connectionAdvice(err error) string {
	var dns *net.DNSError
	var host x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var network net.Error
	switch text := err.Error(); {
	case errors.As(err, &dns):
		return "The name cannot be resolved here. Check --brokers; and if the first broker is reached, its advertised.listeners, which must be names that this machine knows."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "Nothing listens at this address. Check --brokers and whether the broker runs; and its advertised.listeners, to which the client is sent on."
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &verification):
		return "The broker's certificate is not trusted, or not for this name. Check the CA file and the name in --brokers."
	case errors.As(err, &record):
		return "The broker does not speak TLS at this port. Check the port, or turn TLS off."
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "The broker closes the connection without a word. Usually one side expects TLS or a login and the other does not, it refuses user name or password, or the port is another service's."
	case strings.Contains(text, "SASL"), strings.Contains(text, "sasl"):
		return "Logging in failed. Check the user name, the password and the SASL mechanism."
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "No answer in time. Check the address, and firewalls and security groups between here and there."
	}
	return ""
}
