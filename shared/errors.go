package shared

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// Why a document could not be read or changed. Unless an error is an [ErrUnknown], nothing was
// applied.
var (
	// ErrNoDocument: there is no document under the key, or it was deleted.
	ErrNoDocument = errors.New("no such document")
	// ErrUnknown: the change was applied, was not, or still will be. Ask again with the same
	// Source.ID: it is applied once.
	ErrUnknown = store.ErrUnknown
	// ErrContended: others have changed the document each time. Try again later, or change it
	// from fewer places.
	ErrContended = errors.New("changed by others each time")
	// ErrRepeated: the id was used for another request before. Give each request its own.
	ErrRepeated = errors.New("id used for another request")
	// ErrTooLarge: the document would be over HardBytes: see [SizeError].
	ErrTooLarge = errors.New("document too large")
	// ErrInvalid: the document would not pass Options.Validate, whose error is wrapped.
	ErrInvalid = errors.New("document is not valid")
	// ErrForeign: what is stored is no document. It was left as it is.
	ErrForeign = errors.New("not a document")
	// ErrNewerFormat: a later release has written the document. It was left as it is.
	ErrNewerFormat = errors.New("written by a newer release")
	// ErrFull: there are MaxWatches watches already.
	ErrFull = errors.New("too many watches")
	// ErrClosed: the documents, their node, or the watch is closed.
	ErrClosed = errors.New("closed")
)

// SizeError is the refusal of a document over the budget. It is an [ErrTooLarge].
type SizeError struct {
	Path  doc.Path // the place that grew most
	Size  int      // bytes that the document would have
	Limit int      // HardBytes
}

// Error names the size, the limit and the place that grew.
func (e *SizeError) Error() string {
	return fmt.Sprintf("document of %d bytes is over the budget of %d; %q grew", e.Size, e.Limit, e.Path)
}

// Is makes errors.Is(err, ErrTooLarge) hold.
func (e *SizeError) Is(target error) bool { return target == ErrTooLarge }

// hopeless tells that a call to the store will fail again however often it is made.
func hopeless(err error) bool {
	for _, never := range [...]error{store.ErrClosed, store.ErrInvalid, store.ErrUnsupported, store.ErrTooLarge} {
		if errors.Is(err, never) {
			return true
		}
	}
	return false
}
