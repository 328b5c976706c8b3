// Package mutants weakens rules on purpose and sees the tests fail. A proof that does not
// fail when a rule is gone says nothing about that rule.
//
// Each mutant is a small text file for a person to read: which rule is weakened, what goes
// wrong then, what must catch it, and the change itself, in whole lines.
//
//	rule: H2, only the record decides that a session is lost
//	caught by: ./profile TestSearch$
//	caught by: SHOAL_SIM_SEEDS=20 ./sim TestSim/of/shoal/lostAnswers/two$
//
//	A conflict ends the session at once. It nearly always is the holder's own earlier write,
//	and then the record names a living node without a session.
//
//	--- profile/rules_save.go
//		if isConflict(err) {
//			return h, saveReadBack
//		}
//	+++
//		if isConflict(err) {
//			return h, saveLost
//		}
//
// The header ends at the first blank line. A check is a package and a -run pattern, with
// environment variables in front; every check that is named must catch the mutant. The words
// after the header say what goes wrong. Each change names a file, the old lines after ---, of
// which there must be exactly one such place, and the new lines after +++; blank lines at
// either end of them do not count. Several changes are made one after the other. A mutant
// changes the product and never a test. With "hangs: yes" a test that does not end in time
// counts as failed.
//
// A mutant is caught when it compiles and a test fails. It survives when all tests pass. It
// is broken when its old lines are not there, when it does not compile, when a test hangs, or
// when what should catch it fails without it too. Nothing in the tree is changed: the compiler
// is told to read the changed file elsewhere (go test -overlay).
//
// Mutants run side by side in as many goroutines as asked for; [Runner] owns them, and
// [Runner.Run] returns when all have ended.
package mutants
