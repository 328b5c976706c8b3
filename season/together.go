package season

import "github.com/shoalworks/shoal/doc"

// RecordWith counts events in a transaction of the caller's, together with what else it
// changes: all of it or nothing, as when a catch also goes into the bag. commit is called once;
// it makes one transaction on the session, of its own operations and behind them those that
// count derives from the data which the transaction finds, and answers its error. Where count
// fails the transaction has to fail.
//
// The caller's operations keep away from Config.Path. Everything else is as with [Service.Record].
func (s *Service) RecordWith(session Session, events []Event, commit func(count func(doc.Value) ([]doc.Op, error)) error) error {
	p, err := s.playerOf(session)
	if err != nil {
		return err
	}
	current := s.season()
	currentID := s.names(current).id
	var made turn
	err = commit(func(data doc.Value) (ops []doc.Op, err error) {
		made, err = s.rules.record(data, current, currentID, events)
		return made.ops, err
	})
	if err != nil || len(made.ops) == 0 {
		return err
	}
	p.changed.Add(1)
	s.reportEvicted(p, made.evicted)
	return nil
}
