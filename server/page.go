package server

import (
	"context"
	"io"

	"github.com/shoalworks/shoal/proto/wirejson"
)

// pageCodec is the JSON codec, except that an answer whose JSON form is at hand is not
// encoded again: a board's page is encoded once for all who read it.
type pageCodec struct{ wirejson.Codec }

// MarshalWrite writes msg to dst.
func (c *pageCodec) MarshalWrite(ctx context.Context, dst io.Writer, msg any) error {
	if own := callOf(ctx); own != nil && own.encoded != nil && own.page == msg {
		_, err := dst.Write(own.encoded)
		return err
	}
	return c.Codec.MarshalWrite(ctx, dst, msg)
}
