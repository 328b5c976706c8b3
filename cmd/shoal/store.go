package main

// storeCommands are about what is stored, whatever it means.
type storeCommands struct {
	Check storeCheckCommand `cmd:"" help:"Compare what the store keeps beside boards with their entries."`
}
