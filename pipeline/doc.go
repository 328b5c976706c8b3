// Package pipeline decides what a transaction makes of a document, or why it is refused.
//
// # What it is
//
// A [Pipeline] takes a document, a source and operations ([Proposal]) through the stages
//
//	operations → derived fields → reactions → guards
//
// and answers with the document that they make, its difference from the first, and what
// reporting guards had to say ([Result]). Or it refuses with every complaint ([RefusedError]).
// It stores nothing and tells nobody: committing a result is its caller's business.
//
//   - Operations are staged one by one. All are applied or none; of those that do not fit,
//     each is a complaint of its own.
//   - Derived fields ([Derived]) are functions of other places of the document. They are
//     computed in the order of their dependencies, when one of their inputs has changed. No
//     operation may write them.
//   - Reactions ([Reaction]) answer a change with operations, in the same transaction, round
//     after round, until nothing changes that one of them watches; at most [MaxRounds] rounds.
//   - Policies ([SourcePolicy]) say by path whose changes are taken, and guards ([Guard]) judge the
//     whole change. All are asked, and all complaints are kept. Those of mode [ReportOnly] only
//     report.
//
// # Guarantees
//
//   - What Run answers depends on nothing but its argument and the functions configured.
//   - The edits of a result, applied to the document before, make the document after.
//   - A refusal has no effect at all.
//   - If the derived fields are right before a transaction, they are right after it; [Pipeline.Derive]
//     makes them right for a document from elsewhere.
//   - A transaction without effect is accepted without asking policies and guards.
//   - Every list is bounded: see [MaxViolations], [MaxRounds], and [RefusedError.Error].
//
// # Concurrency
//
// A Pipeline never changes and may be used by any number of goroutines; the functions given
// to it are then called at once from all of them. It starts no goroutine, reads no clock and
// does no I/O.
//
// # Errors
//
// A refusal is an [ErrRefused]. Its complaints carry sentinels, of this package (ErrDerived,
// ErrCompute, ErrReaction, ErrUnsettled, ErrPolicy, ErrGuard) and of package doc, that
// errors.Is and errors.As find through it. A panic of the game's own function is a complaint
// with a [PanicError].
//
// # Testing
//
// Property tests check the guarantees above against recomputation from scratch, with derived
// fields, reactions and guards drawn at random.
package pipeline
