package board

import "container/list"

// lru keeps the values of the most recently used keys. It is not safe for concurrent use.
type lru[V any] struct {
	limit int
	byKey map[string]*list.Element
	order list.List // of *lruItem[V]; the front was used last
}

type lruItem[V any] struct {
	key   string
	value V
}

func newLRU[V any](limit int) *lru[V] {
	return &lru[V]{limit: limit, byKey: make(map[string]*list.Element)}
}

func (l *lru[V]) get(key string) (v V, ok bool) {
	e, ok := l.byKey[key]
	if !ok {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*lruItem[V]).value, true //nolint:forcetypeassert // the list holds nothing else
}

// put keeps the value. When there is no room, the key that was unused for longest goes.
func (l *lru[V]) put(key string, value V) {
	l.remove(key)
	if len(l.byKey) >= l.limit {
		l.remove(l.order.Back().Value.(*lruItem[V]).key) //nolint:forcetypeassert // the list holds nothing else
	}
	l.byKey[key] = l.order.PushFront(&lruItem[V]{key, value})
}

func (l *lru[V]) remove(key string) {
	if e, ok := l.byKey[key]; ok {
		l.order.Remove(e)
		delete(l.byKey, key)
	}
}
