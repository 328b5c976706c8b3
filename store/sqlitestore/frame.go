package sqlitestore

import (
	"encoding/binary"

	"github.com/shoalworks/shoal/store"
)

// This file holds the form of a message between processes, without I/O.

// frameVersion begins every frame. A process drops frames of a version it does not know.
const frameVersion = 1

const (
	frameHead = 1 + 2 // version, length of the topic
	frameMost = frameHead + store.MaxTopic + store.MaxPayload
)

// encodeFrame is version, length of the topic (2 bytes, big endian), topic, payload.
func encodeFrame(topic string, payload []byte) []byte {
	frame := make([]byte, 0, frameHead+len(topic)+len(payload))
	frame = append(frame, frameVersion)
	frame = binary.BigEndian.AppendUint16(frame, uint16(len(topic)))
	frame = append(frame, topic...)
	return append(frame, payload...)
}

// decodeFrame is the inverse; ok is false for what encodeFrame cannot have made. The payload
// is part of frame.
func decodeFrame(frame []byte) (topic string, payload []byte, ok bool) {
	if len(frame) < frameHead || frame[0] != frameVersion {
		return "", nil, false
	}
	n := int(binary.BigEndian.Uint16(frame[1:]))
	rest := frame[frameHead:]
	if n == 0 || n > store.MaxTopic || n > len(rest) || len(rest)-n > store.MaxPayload {
		return "", nil, false
	}
	return string(rest[:n]), rest[n:], true
}
