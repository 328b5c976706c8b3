package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/wirejson"
	"github.com/shoalworks/shoal/store"
)

// maxPages is how many boards' pages, each in one size, are kept encoded. When there are
// more, all are forgotten and encoded again as they are asked for.
const maxPages = 1024

// pages keeps the answers to Top as long as the board's page behind them is the same, so that
// a page is encoded once for all who read it in one mode of ranks, and once a second for the
// sake of names. What it keeps is shared and never changed.
type pages struct {
	codec wirejson.Codec
	mu    struct {
		sync.RWMutex
		byKey map[pageKey]*pageForm
	}
}

type pageKey struct {
	board string
	count int
	mode  store.RankMode
}

// formFor is how long an answer is kept while its page stays the same: names may come later
// than the page, and change.
const formFor = time.Second

// pageForm is one answer to Top.
type pageForm struct {
	page    store.Page // what it was made from
	msg     *shoalv1.BoardTopResponse
	json    []byte
	made    time.Time
	renewed atomic.Bool // somebody makes its successor from the same page; it serves until then
}

// fresh tells whether the form may answer for p. When it is merely old, one caller is told no.
func (f *pageForm) fresh(p store.Page, now time.Time) bool {
	return f != nil && f.of(p) && (now.Sub(f.made) < formFor || !f.renewed.CompareAndSwap(false, true))
}

// of tells whether the form was made from a page that shares its entries with p. The form
// holds on to its page, so that no other page can have the same address.
func (f *pageForm) of(p store.Page) bool {
	return len(p.Entries) > 0 && len(f.page.Entries) == len(p.Entries) && &f.page.Entries[0] == &p.Entries[0] &&
		f.page.Total == p.Total && f.page.Info.Sealed == p.Info.Sealed
}

// top answers Top with a page, and tells the call the answer's JSON form.
func (ps *pages) top(ctx context.Context, key pageKey, page store.Page, forms boardForms) *shoalv1.BoardTopResponse {
	ps.mu.RLock()
	form := ps.mu.byKey[key]
	ps.mu.RUnlock()
	if now := forms.s.clock.Now(); !form.fresh(page, now) {
		form = ps.render(ctx, key, page, forms, now)
	}
	if c := callOf(ctx); c != nil {
		c.page, c.encoded = form.msg, form.json
	}
	return form.msg
}

func (ps *pages) render(ctx context.Context, key pageKey, page store.Page, forms boardForms, now time.Time) *pageForm {
	form := &pageForm{page: page, made: now, msg: &shoalv1.BoardTopResponse{
		Entries: forms.standings(ctx, page.Entries), Total: page.Total, Sealed: page.Info.Sealed,
	}}
	if text, err := ps.codec.Append(nil, form.msg); err == nil {
		form.json = text
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.mu.byKey == nil || len(ps.mu.byKey) >= maxPages {
		ps.mu.byKey = make(map[pageKey]*pageForm)
	}
	ps.mu.byKey[key] = form
	return form
}

// pageCodec is the JSON codec, except that an answer whose JSON form is at hand is not
// encoded again.
type pageCodec struct{ wirejson.Codec }

// MarshalWrite writes msg to dst.
func (c *pageCodec) MarshalWrite(ctx context.Context, dst io.Writer, msg any) error {
	if own := callOf(ctx); own != nil && own.encoded != nil && own.page == msg {
		_, err := dst.Write(own.encoded)
		return err
	}
	return c.Codec.MarshalWrite(ctx, dst, msg)
}

// cacheable lets caches keep an answer to GET for as long as the daemon itself would: in
// everybody's caches without an API key, in the caller's own with one.
func (s *Server) cacheable(ctx context.Context, age time.Duration) {
	info, ok := connecthttp.ServerInfoForContext(ctx)
	if !ok || info.HTTPMethod() != http.MethodGet {
		return
	}
	call, ok := connect.CallInfoForServerContext(ctx)
	if !ok {
		return
	}
	scope := "public"
	if s.access.keyed {
		scope = "private"
	}
	call.ResponseHeader().Set("Cache-Control", fmt.Sprintf("%s, max-age=%d", scope, max(0, age/time.Second)))
}
