package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"flowgraph/internal/archive"
	"flowgraph/internal/channelinfo"
)

// Validate refuses what does not go together.
func (c *InspectCommand) Validate() error {
	switch {
	case c.Binary && c.Format != "milvus":
		return errors.New("--binary needs --format milvus")
	case c.Format == "milvus" && len(c.VChannel) == 0:
		return errors.New("--format milvus needs --vchannel")
	case c.Format == "milvus" && (c.JSON || c.Objects):
		return errors.New("--format milvus goes with neither --json nor --objects: it is JSON, unless --binary")
	}
	return c.S3Flags.Validate()
}

// milvus prints one VchannelInfo for each collection of the vchannels.
func (c *InspectCommand) milvus(ctx context.Context, a *archive.Archive, p *Process) error {
	var all []proto.Message
	for _, name := range c.VChannel {
		list, err := channelinfo.Of(ctx, a, a.VChannel(name))
		if err != nil {
			return err
		}
		all = append(all, list...)
	}
	if !c.Binary {
		return channelinfo.WriteJSON(p.Stdout, all)
	}
	if err := tellFraming(p.Stderr, len(all)); err != nil {
		return err
	}
	return channelinfo.WriteBinary(p.Stdout, all)
}

// tellFraming says how the messages stand behind each other.
func tellFraming(w io.Writer, n int) error {
	text := "one VchannelInfo, as it is\n"
	if n != 1 {
		text = fmt.Sprintf("%d VchannelInfo, each behind its length as a varint\n", n)
	}
	_, err := io.WriteString(w, text)
	return err
}
