package server

import (
	"context"
	"net/http"
	"net/http/httptest"

	"connectrpc.com/connect/v2/connecthttp"

	"github.com/shoalworks/shoal/doc"
)

// Ruling is a row of the table of reasons.
type Ruling struct {
	Reason, Code, Outcome, Advice string
	Status                        int
}

// Rulings is the table of reasons, as callers see it.
func Rulings() []Ruling {
	t := newTable()
	var out []Ruling
	for _, r := range rulings() {
		c := new(call)
		rec := httptest.NewRecorder()
		w := &response{ResponseWriter: rec, call: c}
		req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", nil)
		_ = connecthttp.NewErrorWriter().Write(w, req, t.wire(refuse(r.reason, "", "x"), c))
		out = append(out, Ruling{string(r.reason), r.code.String(), r.outcome, r.advice, rec.Code})
	}
	return out
}

// ParseOps is the parser of a transaction's operations.
func ParseOps(text string) ([]doc.Op, error) { return parseOps(text) }

// Reason is the reason for an error of the domain.
func Reason(err error) string { return string(newTable().sort(err).reason) }
