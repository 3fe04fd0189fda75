package traffic

import (
	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
)

// bad queues a record that a reader must put aside.
func (s *Stream) bad(l *channel, c *collection, p *partition) {
	m := &message{kind: commonpb.MsgType_Insert, bad: true}
	request, _ := s.request(l, c, p, insert{segment: s.segment(l, p, 0), rows: 2 + s.rng.IntN(5)})
	switch s.rng.IntN(6) {
	case 0: // no protobuf: field number 0 does not exist
		m.value = []byte{0, 0xff}
		for range s.rng.IntN(2000) {
			m.value = append(m.value, byte(s.rng.Uint32()))
		}
	case 1: // no value at all, or an empty one
		if s.rng.IntN(2) == 0 {
			m.value = []byte{}
		}
	case 2: // cut short inside a column
		m.value = cutShort(request)
	case 3: // a column lost a row
		request.FieldsData[0] = s.fieldsData(c, 1, s.newKeys(c, 1))[0]
		m.value = marshal(request)
	case 4: // a column is missing
		request.FieldsData = request.FieldsData[1:]
		m.value = marshal(request)
	case 5: // a message of a type that does not exist
		m.value = marshal(&msgpb.TimeTickMsg{Base: &commonpb.MsgBase{MsgType: 987_654, Timestamp: s.clock}})
	}
	s.push(l, m, false)
}

// cutShort cuts an insert inside its last column: what is left is no whole
// protobuf message.
func cutShort(m *msgpb.InsertRequest) []byte {
	m.NumRows, m.Version = 0, 0 // they would follow the columns
	b := marshal(m)
	return b[:len(b)-1]
}
