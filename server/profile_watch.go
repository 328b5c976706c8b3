package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/profile"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
)

// Limits of Watch.
const (
	defaultBuffer = 64
	maxBuffer     = 1024
)

// Watch follows a profile that is open here, until its session ends, the caller goes away or
// the daemon closes.
func (p profileService) Watch(ctx context.Context, req *shoalv1.ProfileWatchRequest, stream shoalv1connect.ProfileServiceWatchServerStream) error {
	sess, err := p.session(req.GetSet(), req.GetKey())
	if err != nil {
		return err
	}
	buffer, err := limitOf("buffer", req.Buffer, defaultBuffer, maxBuffer)
	if err != nil {
		return err
	}
	w, err := sess.Watch(buffer)
	if err != nil {
		return err
	}
	defer w.Close()
	out := p.s.outlet(ctx)
	for {
		e, err := w.Next(ctx)
		step, last := watchForm(e), false
		if ended := (*profile.EndedError)(nil); errors.As(err, &ended) {
			step = &shoalv1.ProfileWatchResponse{Revision: sess.Revision(), Ended: proto.String(ended.Reason.String())}
			err, last = nil, true
		}
		if err == nil {
			err = out.send(func() error { return stream.Send(step) })
		}
		if err != nil || last {
			return err
		}
	}
}

func watchForm(e profile.WatchEvent) *shoalv1.ProfileWatchResponse {
	out := &shoalv1.ProfileWatchResponse{Revision: e.Revision, Missed: uint64(e.Missed)}
	if e.Commit != nil {
		out.Commit = commitForm(*e.Commit)
	} else {
		out.Data = proto.String(e.Snapshot.String())
	}
	return out
}

// outlet sends the parts of an answer that goes on for as long as the caller likes: each part
// has its own time to be taken, in the place of the one that whole answers have.
type outlet struct {
	control *http.ResponseController
	now     func() time.Time
	within  time.Duration
}

func (s *Server) outlet(ctx context.Context) outlet {
	o := outlet{now: clock.System().Now, within: s.limits.BodyTimeout}
	if c := callOf(ctx); c != nil && c.writer != nil {
		o.control = http.NewResponseController(c.writer)
	}
	o.allow(time.Time{})
	return o
}

// send runs a send. A reader who does not take it in time is dropped.
func (o outlet) send(do func() error) error {
	o.allow(o.now().Add(o.within))
	defer o.allow(time.Time{})
	return do()
}

// allow sets the time until which what is written must be taken; zero is without end. Without
// a connection below (a test's recorder) there is nothing to limit.
func (o outlet) allow(until time.Time) {
	if o.control != nil {
		_ = o.control.SetWriteDeadline(until)
	}
}
