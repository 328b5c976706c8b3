package wirejson

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"connectrpc.com/connect/v2"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Codec reads and writes messages as JSON. The zero Codec is ready to use.
type Codec struct {
	plans sync.Map // protoreflect.FullName → *plan
}

var _ connect.StableCodec = (*Codec)(nil)

// Name is "json".
func (*Codec) Name() string { return connect.CodecNameJSON }

// IsBinary reports false.
func (*Codec) IsBinary() bool { return false }

// MarshalWrite writes msg, a proto.Message, to dst.
func (c *Codec) MarshalWrite(_ context.Context, dst io.Writer, msg any) error {
	var buf []byte
	if w, ok := dst.(interface{ AvailableBuffer() []byte }); ok {
		buf = w.AvailableBuffer()
	}
	buf, err := c.Append(buf, msg)
	if err != nil {
		return err
	}
	_, err = dst.Write(buf)
	return err
}

// MarshalWriteStable is [Codec.MarshalWrite], which is deterministic.
func (c *Codec) MarshalWriteStable(ctx context.Context, dst io.Writer, msg any) error {
	return c.MarshalWrite(ctx, dst, msg)
}

// Append writes msg, a proto.Message, behind dst.
func (c *Codec) Append(dst []byte, msg any) ([]byte, error) {
	m, p, err := c.plan(msg)
	if err != nil {
		return dst, err
	}
	return appendMessage(dst, m, p)
}

// UnmarshalRead reads one JSON text from src into msg, a proto.Message, which is reset
// first. When the text is refused, the error is an [*Error] and msg holds part of it.
func (c *Codec) UnmarshalRead(_ context.Context, src io.Reader, msg any) error {
	m, p, err := c.plan(msg)
	if err != nil {
		return err
	}
	proto.Reset(m.Interface())
	dec := jsontext.NewDecoder(src)
	if err := readMessage(dec, m, p); err != nil {
		return err
	}
	switch _, err := dec.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return syntax(err)
	}
	return &Error{Offset: dec.InputOffset(), Problem: fmt.Sprintf("more data after the message (byte %d)", dec.InputOffset())}
}

func (c *Codec) plan(msg any) (protoreflect.Message, *plan, error) {
	pm, ok := msg.(proto.Message)
	if !ok {
		return nil, nil, fmt.Errorf("wirejson: %T is no message", msg)
	}
	m := pm.ProtoReflect()
	name := m.Descriptor().FullName()
	if p, ok := c.plans.Load(name); ok {
		return m, p.(*plan), nil
	}
	p, err := newPlan(m.Descriptor())
	if err != nil {
		return nil, nil, err
	}
	c.plans.Store(name, p)
	return m, p, nil
}
