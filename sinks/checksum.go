package sinks

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strings"

	"flowgraph/checkpoints"
)

// digest is an object's checksum in the forms in which stores want it.
type digest struct {
	kind Checksum
	sum  []byte
}

// digestOf computes the checksum once for all attempts. Without a checksum it
// is MD5 too: it is not sent, but a store's ETag usually shows it.
func digestOf(kind Checksum, o checkpoints.Object) digest {
	switch kind {
	case CRC32C:
		sum := o.CRC32C
		if sum == nil {
			s := crcOf(o.Parts)
			sum = &s
		}
		return digest{kind, binary.BigEndian.AppendUint32(nil, *sum)}
	case SHA256:
		h := sha256.New()
		for _, p := range o.Parts {
			h.Write(p)
		}
		return digest{kind, h.Sum(nil)}
	default:
		h := md5.New()
		for _, p := range o.Parts {
			h.Write(p)
		}
		return digest{kind, h.Sum(nil)}
	}
}

func (d digest) text() string { return base64.StdEncoding.EncodeToString(d.sum) }

// header is the upload's checksum header, "" if there is none.
func (d digest) header() string {
	switch d.kind {
	case CRC32C:
		return "x-amz-checksum-crc32c"
	case SHA256:
		return "x-amz-checksum-sha256"
	}
	return ""
}

// compare says whether what the store tells of an object shows that its bytes
// are ours, are not ours, or neither.
func (d digest) compare(sums map[Checksum]string, etag string) (same, known bool) {
	switch d.kind {
	case CRC32C, SHA256:
		sum := sums[d.kind]
		return sum == d.text(), wholeSum(sum)
	}
	// The ETag of an encrypted or a composed object is no MD5: a difference
	// proves nothing.
	same = strings.EqualFold(etag, hex.EncodeToString(d.sum))
	return same, same
}

// wholeSum is false where there is no checksum, or one of an upload in parts
// ("...-2"), which is a checksum of checksums.
func wholeSum(sum string) bool { return sum != "" && !strings.Contains(sum, "-") }

func crcOf(parts [][]byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	var sum uint32
	for _, p := range parts {
		sum = crc32.Update(sum, table, p)
	}
	return sum
}

func crcText(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

func lowerKeys(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[strings.ToLower(k)] = v
	}
	return out
}
