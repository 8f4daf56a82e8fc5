package process

// keeperArg is the only argument of the program when it is a keeper.
const keeperArg = "sluice:keep-process"

// order is what the node tells a keeper, once, on descriptor 3. The end of that pipe is
// the end of the command.
type order struct {
	Argv, Env  []string
	Dir        string
	NetworkOff bool
	Memory     int64
	Processes  int
}

// report is what a keeper tells the node, once, on descriptor 4.
type report struct {
	// Refused says why the command could not be started.
	Refused string `json:",omitempty"`
	// Killed says why the keeper ended it.
	Killed string `json:",omitempty"`
	// Exit is how the command ended by itself.
	Exit string `json:",omitempty"`
}
