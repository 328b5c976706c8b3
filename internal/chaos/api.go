package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/types/known/durationpb"

	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
)

const (
	set = "players"
	// callTimeout bounds a call other than a load.
	callTimeout = 6 * time.Second
	// playTimeout bounds a transaction, which is in memory.
	playTimeout = 3 * time.Second
	// saveTimeout bounds a save: an answer that is late is a promise all the same.
	saveTimeout = 12 * time.Second
	// loadWait bounds a load of a player. It is longer than it takes to find a holder dead, or to
	// steal from one.
	loadWait = 30 * time.Second
	// auditWait bounds a load of the audit, which has to succeed. A holder whose last save says
	// that its beats do not land gets 45 s (PROTOCOL.md B4).
	auditWait = 90 * time.Second
)

// api is one daemon as a game sees it.
type api struct {
	http    *http.Client
	profile shoalv1connect.ProfileServiceClient
	mail    shoalv1connect.MailServiceClient
	board   shoalv1connect.BoardServiceClient
	season  shoalv1connect.SeasonServiceClient
}

func newAPI(url string) *api {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	wire := connect.NewClient(connecthttp.NewTransport(client, url))
	return &api{
		http: client, profile: shoalv1connect.NewProfileServiceClient(wire),
		mail: shoalv1connect.NewMailServiceClient(wire), board: shoalv1connect.NewBoardServiceClient(wire),
		season: shoalv1connect.NewSeasonServiceClient(wire),
	}
}

// reason is why a daemon has refused a call; empty when it said nothing.
func reason(err error) string { return detailOf(err).GetReason() }

// outcome is what a daemon says that a failed write has come to; empty when it said nothing.
func outcome(err error) string { return detailOf(err).GetOutcome() }

// detailOf is what a daemon says of an error; nil when that is nothing.
func detailOf(err error) *shoalv1.ErrorDetail {
	var rpc *connect.Error
	if !errors.As(err, &rpc) {
		return nil
	}
	for _, d := range rpc.Details() {
		if msg, err := connectproto.UnmarshalErrorDetail(d); err == nil {
			if detail, ok := msg.(*shoalv1.ErrorDetail); ok {
				return detail
			}
		}
	}
	return nil
}

// document is what a player's profile holds.
type document struct {
	Count   int64            `json:"count"`
	Got     map[string]int64 `json:"got"`
	Prizes  int64            `json:"prizes"`
	Coins   int64            `json:"coins"`
	Seasons map[string]struct {
		Season string                     `json:"season"`
		Titles map[string]json.RawMessage `json:"titles"`
	} `json:"seasons"`
}

// found reads a profile.
func found(p *shoalv1.Profile) (Found, error) {
	var d document
	if err := json.Unmarshal([]byte(p.GetData()), &d); err != nil {
		return Found{}, fmt.Errorf("chaos: data of %s: %w", p.GetKey(), err)
	}
	return Found{
		Epoch: p.GetEpoch(), Revision: p.GetRevision(), Count: d.Count, Got: d.Got,
		Season: seasonNumber(d.Seasons[season].Season), Titles: int64(len(d.Seasons[season].Titles)), Prizes: d.Prizes,
		Coins: d.Coins,
	}, nil
}

// load opens a profile. One that is open at this daemon already, by a load whose answer was
// lost, is read.
func (a *api) load(ctx context.Context, key string, wait time.Duration) (Found, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+callTimeout)
	defer cancel()
	res, err := a.profile.Load(ctx, &shoalv1.ProfileLoadRequest{Set: set, Key: key, Wait: durationpb.New(wait)})
	if err == nil {
		return found(res.GetProfile())
	}
	if reason(err) == "already_open" {
		return a.live(ctx, key)
	}
	return Found{}, err
}

// errOutdated says that a daemon still has a session open that a later one has replaced.
var errOutdated = errors.New("chaos: open in an earlier session")

// errElsewhere says that a daemon does not have a profile open.
var errElsewhere = errors.New("chaos: not open here")

// live reads a profile that is open at this daemon.
func (a *api) live(ctx context.Context, key string) (Found, error) {
	res, err := a.profile.Get(ctx, &shoalv1.ProfileGetRequest{Set: set, Key: key})
	switch {
	case err != nil:
		return Found{}, err
	case !res.GetOpenHere():
		return Found{}, errElsewhere
	}
	f, err := found(res.GetProfile())
	f.Live = true
	return f, err
}

// play counts one more, once for an id.
func (a *api) play(ctx context.Context, key, id string) (revision uint64, count int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	res, err := a.profile.Transact(ctx, &shoalv1.ProfileTransactRequest{
		Set: set, Key: key, Id: id, ReturnData: true, Ops: `[{"op":"increment","path":"/count","by":1}]`,
	})
	if err != nil {
		return 0, 0, err
	}
	var d document
	err = json.Unmarshal([]byte(res.GetData()), &d)
	return res.GetRevision(), d.Count, err
}

// save stores a profile, or syncs it when it need not be durable.
func (a *api) save(ctx context.Context, key string, durable bool) (revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	if durable {
		res, err := a.profile.Save(ctx, &shoalv1.ProfileSaveRequest{Set: set, Key: key})
		return res.GetRevision(), err
	}
	res, err := a.profile.Sync(ctx, &shoalv1.ProfileSyncRequest{Set: set, Key: key})
	return res.GetRevision(), err
}

// release ends a session.
func (a *api) release(ctx context.Context, key string) (revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	res, err := a.profile.Release(ctx, &shoalv1.ProfileReleaseRequest{Set: set, Key: key})
	return res.GetRevision(), err
}

// effect is what a claim does to a document.
func effect(id string) string {
	return fmt.Sprintf(`[{"op":"increment","path":"/got/%s","by":1}]`, id)
}

// grant gives a receipt's goods.
func (a *api) grant(ctx context.Context, key, id string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := a.profile.Grant(ctx, &shoalv1.ProfileGrantRequest{Set: set, Key: key, Receipt: id, Ops: effect(id)})
	return err
}

// send leaves a mail.
func (a *api) send(ctx context.Context, key, id string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ops := effect(id)
	_, err := a.mail.Send(ctx, &shoalv1.MailSendRequest{Set: set, Key: key, AllowMissing: true, Mail: &shoalv1.Mail{Id: id, Ops: &ops}})
	return err
}

// submit puts a score on the board, and waits until the store has it.
func (a *api) submit(ctx context.Context, key string, score int64) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := a.board.Submit(ctx, &shoalv1.BoardSubmitRequest{
		Board: "Best", Durable: true, Entries: []*shoalv1.BoardSubmission{{Key: key, Score: &score}},
	})
	return err
}

// score reads the entry of a board; ok is false when there is none.
func (a *api) score(ctx context.Context, board, key string) (score int64, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := a.board.Scores(ctx, &shoalv1.BoardScoresRequest{Board: board, Keys: []string{key}})
	if err != nil || len(res.GetEntries()) == 0 {
		return 0, false, err
	}
	return res.GetEntries()[0].GetScore(), true, nil
}
