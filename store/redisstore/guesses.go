package redisstore

import (
	"hash/maphash"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// Limits of what an engine remembers of boards. Guesses are eight to a set; when all of a set are
// taken and there may be no more sets, the newest takes the place of another one.
const (
	guessSet     = 8               // guesses of a set
	guessShards  = 64              // each has a lock of its own
	guessSetsMax = 4096            // of a shard: 2,097,152 guesses of 24 bytes in all
	guessLives   = 4096            // boards whose lives are known; when there are more, all are forgotten
	shardShift   = 64 - 6          // the upper bits of a tag are the shard
	guessFull    = 6               // guesses to a set on average before there are twice as many sets
	guessTaken   = uint64(1)       // set in each tag: 0 is none
	guessDoubt   = uint64(1) << 63 // set in the sequence, which has 63 bits, of what is not guessed
)

// guesses is where entries of boards stood when this engine wrote or read them. A guess that is
// wrong costs time, and nothing else: the servers are asked whether exactly this entry stands
// there. So nothing is lost when one is forgotten, or another key has the same tag.
//
// A guess that was wrong is in doubt, and so is what is read thereafter, until the entry is found
// twice at one place: what others change each time before it is read is not guessed in vain.
//
// An entry belongs to the life of a board, which is a text that no other board has had, or will.
// The order of the board is known by it.
type guesses struct {
	seed   maphash.Seed
	keys   keys
	lives  boardLives
	shards [guessShards]guessShard
}

// boardLives are the lives that boards have had when this engine heard of them last.
type boardLives struct {
	mu struct {
		sync.Mutex
		by map[string]knownBoard
	}
}

// boardLife is what never changes of a board.
type boardLife struct {
	text  string
	order store.Order
}

// knownBoard is a board whose life is known, with the keys that its standings take.
type knownBoard struct {
	boardLife

	keys []string
}

// guessShard is a part of the guesses.
type guessShard struct {
	mu struct {
		sync.Mutex
		sets [][guessSet]guess // as many as a power of two, or none
		held int
	}
}

// guess is where an entry may stand. The tag stands for its board's life and its key.
type guess struct{ tag, place, sequence uint64 }

func newGuesses(k keys) *guesses { return &guesses{seed: maphash.MakeSeed(), keys: k} }

// live tells that a board has this life, unless either is not known. A nil g remembers nothing.
func (g *guesses) live(board string, life boardLife) {
	if g == nil || life.text == "" || life.order == 0 {
		return
	}
	l := &g.lives
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, known := l.mu.by[board]; known && old.boardLife == life {
		return
	}
	if l.mu.by == nil || len(l.mu.by) >= guessLives {
		l.mu.by = make(map[string]knownBoard)
	}
	l.mu.by[board] = knownBoard{life, g.keys.boardParts(board, standingParts)}
}

// gone tells that guesses are of no use for a board: it is not known to have this life any more.
func (g *guesses) gone(board string, life boardLife) {
	g.lives.mu.Lock()
	defer g.lives.mu.Unlock()
	if g.lives.mu.by[board].boardLife == life {
		delete(g.lives.mu.by, board)
	}
}

// board is a board whose life is known.
func (g *guesses) board(name string) (b knownBoard, known bool) {
	if g == nil {
		return knownBoard{}, false
	}
	g.lives.mu.Lock()
	defer g.lives.mu.Unlock()
	b, known = g.lives.mu.by[name]
	return b, known
}

func (g *guesses) tagOf(life, key string) uint64 {
	var h maphash.Hash
	h.SetSeed(g.seed)
	h.WriteString(life) //nolint:gosec // it never fails
	h.WriteString(key)  //nolint:gosec // it never fails
	return h.Sum64() | guessTaken
}

// put remembers where a key of a life stands, which was written there.
func (g *guesses) put(life, key string, place, sequence uint64) {
	g.learn(life, key, place, sequence, false)
}

// found remembers where a key of a life stands, which was read there.
func (g *guesses) found(life, key string, place, sequence uint64) {
	g.learn(life, key, place, sequence, true)
}

func (g *guesses) learn(life, key string, place, sequence uint64, read bool) {
	if g == nil || life == "" {
		return
	}
	tag := g.tagOf(life, key)
	s := &g.shards[tag>>shardShift]
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.at(tag); read && old != nil && old.sequence&guessDoubt != 0 && (old.place != place || old.sequence != sequence|guessDoubt) {
		sequence |= guessDoubt
	}
	if s.mu.held >= guessFull*len(s.mu.sets) && len(s.mu.sets) < guessSetsMax {
		s.grow()
	}
	s.place(guess{tag, place, sequence})
}

// grow makes twice as many sets. The caller holds the lock.
func (s *guessShard) grow() {
	old := s.mu.sets
	s.mu.sets, s.mu.held = make([][guessSet]guess, max(1, 2*len(old))), 0
	for _, set := range old {
		for _, one := range set {
			if one.tag != 0 {
				s.place(one)
			}
		}
	}
}

// place puts a guess into its set. The caller holds the lock.
func (s *guessShard) place(one guess) {
	set := s.setOf(one.tag)
	free := -1
	for i := range set {
		switch set[i].tag {
		case one.tag:
			set[i] = one
			return
		case 0:
			free = i
		}
	}
	if free < 0 {
		free = int(one.sequence % guessSet) //nolint:gosec // it is small
	} else {
		s.mu.held++
	}
	set[free] = one
}

// setOf is the set in which a tag is, if it is anywhere. The caller holds the lock, and there
// are sets.
func (s *guessShard) setOf(tag uint64) *[guessSet]guess {
	return &s.mu.sets[int(tag>>1)&(len(s.mu.sets)-1)] //nolint:gosec // the upper bits do not matter
}

// at is the guess with a tag, nil when there is none. The caller holds the lock.
func (s *guessShard) at(tag uint64) *guess {
	if len(s.mu.sets) == 0 {
		return nil
	}
	set := s.setOf(tag)
	for i := range set {
		if set[i].tag == tag {
			return &set[i]
		}
	}
	return nil
}

// look is where a key of a life may stand.
func (g *guesses) look(life, key string) (at position, found bool) {
	tag := g.tagOf(life, key)
	s := &g.shards[tag>>shardShift]
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.at(tag)
	if one == nil || one.sequence&guessDoubt != 0 {
		return "", false
	}
	return positionAt(one.place, one.sequence), true
}

// wrong tells that the entry has not been where it was guessed to be.
func (g *guesses) wrong(life, key string, at position) {
	tag := g.tagOf(life, key)
	s := &g.shards[tag>>shardShift]
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.at(tag); one != nil && *one == (guess{tag, at.place(), at.sequence()}) {
		one.sequence |= guessDoubt
	}
}
