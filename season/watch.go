package season

import "context"

// Watch follows the block of one session: see [Watch.Next].
type Watch struct{}

// Watch follows the session's block.
func (s *Service) Watch(_ Session) (*Watch, error) { return nil, errUnbuilt }

// Next waits until the block has changed since the last call and answers it; the first call
// answers at once. Changes in between are skipped: the newest block stands for them. It ends
// with an error when the session has ended, after Close, and when ctx ends.
func (w *Watch) Next(_ context.Context) (Block, error) { return Block{}, errUnbuilt }

// Close ends the watch.
func (w *Watch) Close() {}
