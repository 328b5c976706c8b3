package main

// profileCommands are about single profiles and whole sets.
type profileCommands struct {
	Get      getCommand      `cmd:"" help:"Print a profile as it is stored."`
	List     listCommand     `cmd:"" help:"List profiles."`
	Set      setCommand      `cmd:"" help:"Put a value into a profile, wherever it is held."`
	Edit     editCommand     `cmd:"" help:"Apply operations to a profile, all or none, wherever it is held."`
	History  historyCommand  `cmd:"" help:"Print who changed what."`
	Versions versionsCommand `cmd:"" help:"List earlier states of a profile, or print one."`
	Restore  restoreCommand  `cmd:"" help:"Put an earlier state back."`
	Release  releaseCommand  `cmd:"" help:"End the session of a server that does not let go of a player."`
	Export   exportCommand   `cmd:"" help:"Write the profiles of a set to a file."`
	Import   importCommand   `cmd:"" help:"Bring profiles from a file into a set."`
	Erase    eraseCommand    `cmd:"" help:"Remove a person's data, for good."`
}
