package server

import (
	"context"
	"net/http"

	"connectrpc.com/connect/v2"
)

// call is what the layers of one request tell each other. One goroutine at a time uses it.
type call struct {
	status  int          // the HTTP status of an error, where it differs from the code's; 0: the code's
	reason  reason       // why the call was refused; empty when it was not
	code    connect.Code // of the refusal; 0 when there was none
	err     error        // what was refused, with its causes, for the log
	writer  http.ResponseWriter
	page    any // the message whose JSON form encoded is
	encoded []byte
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// callOf is the call that ctx belongs to, or nil.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// response is the writer of one call's response. It puts the call's own status in the place
// of the one that Connect derives from the error's code, and remembers what was sent.
type response struct {
	http.ResponseWriter
	call   *call
	status int
	bytes  int64
}

// WriteHeader sends the status, the call's own when an error is sent.
func (w *response) WriteHeader(status int) {
	if status >= http.StatusBadRequest && w.call.status != 0 {
		status = w.call.status
	}
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Flush sends what is buffered.
func (w *response) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
