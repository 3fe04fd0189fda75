package binlog

import "encoding/binary"

// Renumber makes a file of one field's rows one of another field, in place.
// Nothing but the descriptor names the field. ErrCorrupt or ErrUnsupported if
// it is no such file.
func Renumber(b []byte, field int64) error {
	if _, err := ReadHeaders(b); err != nil {
		return err
	}
	const ids = 3 * 8 // collection, partition, segment
	binary.LittleEndian.PutUint64(b[magicSize+eventHeader+ids:], uint64(field))
	return nil
}
