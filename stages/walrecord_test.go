package stages_test

import (
	"encoding/base64"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"flowgraph/stages"
	"flowgraph/stages/wire"
)

// numbersOf is a message of numeric fields 1, 2, ...
func numbersOf(values ...int64) []byte {
	var b []byte
	for i, v := range values {
		b = protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(i+1), protowire.VarintType), uint64(v))
	}
	return b
}

type walHeader = wire.Header

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func nested(b []byte, field protowire.Number, body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), body)
}

// wal makes a record of a streaming WAL.
func (r rec) wal(out *stages.Record) {
	kind, header := 0, []byte(nil)
	switch r.op {
	case memberOp:
		kind = 2
		body := r
		body.seg, body.ts = 0, 1 // placeholders
		out.Value = marshal(insertOf(body))
		partition := numbersOf(r.part, int64(len(r.rows)))
		if r.seg != 0 {
			partition = nested(partition, 4, numbersOf(r.seg))
		}
		header = nested(numbersOf(r.coll), 2, partition)
	case beginOp:
		kind = 900
	case commitOp:
		kind = 901
	case rollbackOp:
		kind = 902
	case sealOp:
		kind, header = 4, numbersOf(r.coll, r.part, r.seg)
		if r.seg == 0 {
			kind, header = 37, nil
		}
	}
	out.Headers = []wire.Header{
		{Key: "_v", Value: []byte("1")}, {Key: "_t", Value: []byte(strconv.Itoa(kind))},
		{Key: "_tt", Value: []byte(strconv.FormatUint(r.ts, 36))}, {Key: "_vc", Value: []byte("dml_0_1v0")},
		{Key: "_h", Value: []byte(base64.StdEncoding.EncodeToString(header))},
	}
	if r.txn != 0 {
		context := base64.StdEncoding.EncodeToString(numbersOf(r.txn, -1000))
		out.Headers = append(out.Headers, wire.Header{Key: "_tx", Value: []byte(context)})
	}
}
