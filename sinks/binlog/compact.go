package binlog

import "encoding/binary"

// Types of Thrift's compact protocol.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12
)

// compact writes Thrift's compact protocol, of which Parquet's page headers
// and footer are made. Fields of a struct must be written in rising order.
type compact struct {
	b    []byte
	last int16   // field written last in the struct at hand
	open []int16 // the same of the structs around it
}

func (c *compact) reset() { c.b, c.last, c.open = c.b[:0], 0, c.open[:0] }

func (c *compact) field(id int16, kind byte) {
	if delta := id - c.last; delta > 0 && delta <= 15 {
		c.b = append(c.b, byte(delta)<<4|kind)
	} else {
		c.b = append(c.b, kind)
		c.b = binary.AppendVarint(c.b, int64(id)) // zigzag, as Thrift has it
	}
	c.last = id
}

func (c *compact) i32(id int16, v int32) {
	c.field(id, thriftI32)
	c.b = binary.AppendVarint(c.b, int64(v))
}

func (c *compact) i64(id int16, v int64) {
	c.field(id, thriftI64)
	c.b = binary.AppendVarint(c.b, v)
}

func (c *compact) i8(id int16, v int8) {
	c.field(id, thriftByte)
	c.b = append(c.b, byte(v))
}

// bool has its value in the type.
func (c *compact) bool(id int16, v bool) {
	kind := byte(thriftFalse)
	if v {
		kind = thriftTrue
	}
	c.field(id, kind)
}

func (c *compact) binary(id int16, v []byte) {
	c.field(id, thriftBinary)
	c.bytes(v)
}

// bytes is an element of a list of strings.
func (c *compact) bytes(v []byte) {
	c.b = binary.AppendUvarint(c.b, uint64(len(v)))
	c.b = append(c.b, v...)
}

// int is an element of a list of integers.
func (c *compact) int(v int64) { c.b = binary.AppendVarint(c.b, v) }

// list begins a list of n < 15 elements.
func (c *compact) list(id int16, kind byte, n int) {
	c.field(id, thriftList)
	c.b = append(c.b, byte(n)<<4|kind)
}

// begin opens a struct that is a field, element one that is in a list.
func (c *compact) begin(id int16) {
	c.field(id, thriftStruct)
	c.element()
}

func (c *compact) element() {
	c.open = append(c.open, c.last)
	c.last = 0
}

// end closes the innermost struct.
func (c *compact) end() {
	c.b = append(c.b, 0)
	c.last = c.open[len(c.open)-1]
	c.open = c.open[:len(c.open)-1]
}
