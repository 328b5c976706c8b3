package pgstore

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
)

// maxNotify is how long a notification may be; PostgreSQL takes less than 8,000 bytes.
const maxNotify = 7900

// channelOf is the channel of a topic: at most 63 bytes, so that the engine takes it for a
// name, and another one in each schema. Listeners get only what they listen to.
func channelOf(schema, topic string) string {
	sum := sha256.Sum256([]byte(topic))
	return schema + ":" + hex.EncodeToString(sum[:10])
}

// The first byte of a notification says how its payload travels.
const (
	framePlain  = '=' // as it is: ASCII without NUL
	frameBase64 = '~' // in base64
	frameRow    = '@' // in the messages table, under this number
)

// frame is a message as a notification: kind, origin, topic, a space, and the payload.
type frame struct {
	origin  string // the engine that sent it, as many bytes as originBytes says
	topic   string
	payload []byte // nil when it is in the messages table
	row     int64  // then its number there
}

// originBytes is the length of an origin.
const originBytes = 8

var errFrame = errors.New("pgstore: a notification that is not ours")

// text is the frame of a payload, or false when it is too long for a notification.
func (f frame) text() (string, bool) {
	kind, body := byte(framePlain), string(f.payload)
	if !plain(f.payload) {
		kind, body = frameBase64, base64.RawStdEncoding.EncodeToString(f.payload)
	}
	text := string(kind) + f.origin + f.topic + " " + body
	return text, len(text) <= maxNotify
}

// reference is the frame of a payload that is in the messages table, all but its number.
func (f frame) reference() string { return string(frameRow) + f.origin + f.topic + " " }

// plain tells that a text of the engine can hold the payload in every encoding.
func plain(payload []byte) bool {
	for _, b := range payload {
		if b == 0 || b >= 0x80 {
			return false
		}
	}
	return true
}

// parseFrame reads a notification.
func parseFrame(text string) (frame, error) {
	head, body, ok := strings.Cut(text, " ")
	if !ok || len(head) <= 1+originBytes {
		return frame{}, errFrame
	}
	f := frame{origin: head[1 : 1+originBytes], topic: head[1+originBytes:]}
	var err error
	switch head[0] {
	case framePlain:
		f.payload = []byte(body)
	case frameBase64:
		f.payload, err = base64.RawStdEncoding.DecodeString(body)
	case frameRow:
		f.row, err = strconv.ParseInt(body, 10, 64)
	default:
		err = errFrame
	}
	if err != nil {
		return frame{}, errFrame
	}
	return f, nil
}
