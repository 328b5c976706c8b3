package main

// storeCommands are about what is stored, whatever it means.
type storeCommands struct {
	Check storeCheckCommand `cmd:"" help:"Look at the engines behind the store, and compare what they keep beside boards with the entries."`
	Copy  storeCopyCommand  `cmd:"" help:"Copy a store into another one, from any engine to any other, while servers use the first."`
	Pair  storePairCommand  `cmd:"" help:"Change which fast part belongs to the store, while no server of the fleet runs."`
}
