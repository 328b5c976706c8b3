package profile

import "github.com/shoalworks/shoal/pipeline"

// Bounds of a transaction.
const (
	MaxViolations = pipeline.MaxViolations // complaints that a refusal lists; more are counted
	MaxRounds     = pipeline.MaxRounds     // rounds of reactions
)

// Why a transaction was refused by the pipeline. Each complaint of a [RefusedError] is one of
// them, or an error of package doc, ErrTooLarge or ErrSchema.
var (
	// ErrRefused: the transaction does not fit the data, or the game's own rules: see
	// [RefusedError] for every complaint with its path. Nothing was applied.
	ErrRefused = pipeline.ErrRefused
	// ErrDerived: an operation writes a derived field. Write its inputs.
	ErrDerived = pipeline.ErrDerived
	// ErrCompute: a derived field could not be computed from the data that would result.
	ErrCompute = pipeline.ErrCompute
	// ErrReaction: a reaction failed, or its operations do not fit.
	ErrReaction = pipeline.ErrReaction
	// ErrUnsettled: reactions still change the data after MaxRounds rounds; fix them.
	ErrUnsettled = pipeline.ErrUnsettled
	// ErrPolicy: a source of this kind may not change the place; the complaint says whose may.
	ErrPolicy = pipeline.ErrPolicy
	// ErrGuard: a guard of the game objects, and gave no error of its own.
	ErrGuard = pipeline.ErrGuard
)

type (
	// RefusedError is a transaction that was refused as a whole, with every complaint. It is
	// an ErrRefused, and what its complaints are: errors.Is and errors.As look through it.
	RefusedError = pipeline.RefusedError
	// Violation is one complaint: the place, the guard or stage that has it, and the problem.
	Violation = pipeline.Violation
	// PanicError is a panic of the game's own code, caught where it could have done harm.
	PanicError = pipeline.PanicError
)

// Of what the write pipeline is made: see Options.
type (
	// Change is what reactions and guards are asked about.
	Change = pipeline.Change
	// Derived is a field that is computed from others.
	Derived = pipeline.Derived
	// Reaction answers a change with operations in the same transaction.
	Reaction = pipeline.Reaction
	// Guard judges what a transaction makes of the data.
	Guard = pipeline.Guard
	// GuardMode says whether complaints refuse a transaction. The zero GuardMode is Block.
	GuardMode = pipeline.Mode
	// SourcePolicy says which kinds of sources may change a place.
	SourcePolicy = pipeline.SourcePolicy
)

// The modes of guards and policies.
const (
	Block      = pipeline.Block      // the transaction is refused
	ReportOnly = pipeline.ReportOnly // it is accepted, and the complaint is in Commit.Reports
)
