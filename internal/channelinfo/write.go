package channelinfo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// WriteJSON writes each message in protobuf's JSON on a line of its own, with
// the names that the fields have in Milvus.
func WriteJSON(w io.Writer, list []proto.Message) error {
	for _, m := range list {
		text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
		if err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		var line bytes.Buffer // protojson puts blanks in at random
		if err := json.Compact(&line, text); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		line.WriteByte('\n')
		if _, err := w.Write(line.Bytes()); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
	}
	return nil
}

// WriteBinary writes one message as it is, and any other number of them each
// behind its length as a varint, as protobuf's delimited streams are.
func WriteBinary(w io.Writer, list []proto.Message) error {
	options := proto.MarshalOptions{Deterministic: true}
	for _, m := range list {
		if len(list) > 1 {
			if _, err := (protodelim.MarshalOptions{MarshalOptions: options}).MarshalTo(w, m); err != nil {
				return fmt.Errorf("write message: %w", err)
			}
			continue
		}
		data, err := options.Marshal(m)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			return fmt.Errorf("write message: %w", err)
		}
	}
	return nil
}
