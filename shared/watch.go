package shared

import (
	"context"
	"fmt"
	"sync"

	"github.com/shoalworks/shoal/internal/name"
)

// Watch follows one document.
type Watch struct {
	lookout *lookout
	topic   *topic
	news    chan struct{} // holds one token: there may be a newer state
	ended   chan struct{} // closed by Close, or with the set
	once    sync.Once

	seen uint64 // the state of topic that Next has answered last; guarded by lookout
}

// Watch begins to follow a document, which need not exist. Its first [Watch.Next] answers the
// document as it is now. Close it when it is no longer needed. ctx bounds this call only.
// There are at most MaxWatches: then it is [ErrFull].
func (d *Documents) Watch(ctx context.Context, key string) (*Watch, error) {
	w, err := d.watch(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("shared: watch %s: %w", key, err)
	}
	return w, nil
}

func (d *Documents) watch(ctx context.Context, key string) (*Watch, error) {
	if err := name.CheckKey("key", key); err != nil {
		return nil, err
	}
	ctx, leave, err := d.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	w, err := d.lookout.add(key)
	if err != nil {
		return nil, err
	}
	r, err := d.read(ctx, key)
	if err == nil {
		err = r.problem
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	d.lookout.tell(key, r)
	return w, nil
}

// Next answers the newest state of the document, and waits until there is one that it has not
// answered yet, or ctx ends. States that came and went meanwhile are left out. After Close of
// the watch or of its set it is [ErrClosed]. Several goroutines may call it: each state goes to
// one of them.
func (w *Watch) Next(ctx context.Context) (Document, error) {
	for {
		if doc, ok := w.lookout.newer(w); ok {
			return doc, nil
		}
		select {
		case <-w.news:
		case <-w.ended:
			return Document{}, fmt.Errorf("shared: watch %s: %w", w.topic.key, ErrClosed)
		case <-ctx.Done():
			return Document{}, fmt.Errorf("shared: watch %s: %w", w.topic.key, context.Cause(ctx))
		}
	}
}

// Close ends the watch. Again does nothing.
func (w *Watch) Close() { w.lookout.remove(w) }

func (w *Watch) end() { w.once.Do(func() { close(w.ended) }) }
