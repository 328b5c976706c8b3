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

// frame is a message as a notification: kind, origin, place, topic, a space, and the payload.
type frame struct {
	origin  string // the engine that sent it, as many bytes as originBytes says
	place   uint8  // among what is sent with it: of equal notifications the engine drops all but one
	topic   string
	payload []byte // nil when it is in the messages table
	row     int64  // then its number there
}

const (
	originBytes = 8 // the length of an origin
	placeBytes  = 2 // of a place, in hex
)

var errFrame = errors.New("pgstore: a notification that is not ours")

// text is the frame of a payload, or false when it is too long for a notification.
func (f frame) text() (string, bool) {
	kind, body := byte(framePlain), string(f.payload)
	if !plain(f.payload) {
		kind, body = frameBase64, base64.RawStdEncoding.EncodeToString(f.payload)
	}
	text := f.head(kind) + body
	return text, len(text) <= maxNotify
}

// reference is the frame of a payload that is in the messages table, all but its number.
func (f frame) reference() string { return f.head(frameRow) }

func (f frame) head(kind byte) string {
	return string(kind) + f.origin + hex.EncodeToString([]byte{f.place}) + f.topic + " "
}

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
	const origin, place = 1 + originBytes, 1 + originBytes + placeBytes
	if !ok || len(head) <= place {
		return frame{}, errFrame
	}
	at, err := hex.DecodeString(head[origin:place])
	if err != nil {
		return frame{}, errFrame
	}
	f := frame{origin: head[1:origin], place: at[0], topic: head[place:]}
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
