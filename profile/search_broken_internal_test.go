package profile

// mutant is a shell that breaks a rule on purpose, so that the search is seen to fail.
type mutant = uint8

const (
	sound             mutant = iota
	noDisown                 // a load that gave up forgets its claim
	conflictLost             // a conflict is taken for the end of the session
	unfreezes                // a refused final save un-freezes although an earlier one may land
	staleVersion             // a takeover claims on whatever version there is now
	tokenPerLoad             // one token for all that a load claims and asks for
	acksUnknown              // a lost answer is taken for a landed save
	baseStarted              // the journal's base is that of the save that was sent
	emptiesJournal           // a save that has landed empties the journal
	noFilter                 // a journal is replayed whatever the record's revision
	sealEmpties              // the seal drops the entries
	sealedLost               // a seal is taken for the end of the session
	openingTrusted           // an opening append acknowledges at once
	openingRead              // an opening append acknowledges after a reading of the record
	chainedEarly             // a save that was sent before the opening append opens the journal
	olderAccepted            // an older value of the own journal is gone on with
	noEpoch                  // sessions are not compared before seal and replay
	overwritesForeign        // another session's journal is written over
	continuesSealed          // a takeover's journal is open from the seal on
	claimJournaled           // a commit with a claim is journaled
	deletesLost              // a lost session deletes its journal
	deletesAny               // a release deletes whatever journal there is
	appendsFrozen            // appends go on when the final save was sent
	revKept                  // the revision is kept when the journal was forgotten
	lastEffects              // an append has the effects since the last append only
	appendsBlindly           // appends go onto whatever version there is
	neverSeals               // a takeover reads the journal, and does not seal it
	keepsClaim               // a claim that was refused is tried for ever
	journalIgnored           // a takeover does not read the journal
)
