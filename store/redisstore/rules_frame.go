package redisstore

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/shoalworks/shoal/store"
)

// A record is kept as a frame: its version (8 bytes), the server's time of the write (seconds
// and microseconds, 4 bytes each), and its value. Numbers are big-endian. The server puts the
// time in.
const frameHead = 16

// errFrame: what stands under the key is not ours.
var errFrame = errors.New("redisstore: not a record of ours")

// moment is a time by a server's clock, in microseconds since 1970.
type moment int64

func momentOf(seconds, micros int64) moment { return moment(seconds*1e6 + micros) }

// utc is the moment as a time.
func (m moment) utc() time.Time { return time.UnixMicro(int64(m)).UTC() }

// since is how long ago m was at now; a clock that has been set back makes it 0.
func (m moment) since(now moment) time.Duration {
	return time.Duration(max(0, now-m)) * time.Microsecond
}

// versionBytes is a version as it stands in a frame.
func versionBytes(v store.Version) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(v)))
}

// decodeFrame is the record of a frame that was read at now.
func decodeFrame(key, frame string, now moment) (store.Record, error) {
	if len(frame) < frameHead {
		return store.Record{}, errFrame
	}
	head := []byte(frame[:frameHead])
	version := binary.BigEndian.Uint64(head)
	if version == 0 || version > 1<<63-1 {
		return store.Record{}, errFrame
	}
	written := momentOf(int64(binary.BigEndian.Uint32(head[8:])), int64(binary.BigEndian.Uint32(head[12:])))
	return store.Record{
		Key: key, Value: append(make([]byte, 0, len(frame)-frameHead), frame[frameHead:]...),
		Version: store.Version(version), Age: written.since(now),
	}, nil
}
