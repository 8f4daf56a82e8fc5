package local

import (
	"context"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/problem"
)

// Command is a program of the node that speaks MCP over stdio. It holds no secret:
// credentials are the toolset's.
type Command struct {
	Argv      []string `json:"argv" minItems:"1" maxItems:"256" doc:"The program and its arguments. No place for secrets: they are stored, shown and exported."`
	Dir       string   `json:"dir,omitempty" maxLength:"4096" doc:"Working directory, absolute. Default: the home directory of the node's user."`
	Env       []string `json:"env,omitempty" maxItems:"64" doc:"Names of environment variables of the node that it gets. Of the others it gets PATH, HOME, LANG, TMPDIR and the like only."`
	Network   string   `json:"network,omitempty" enum:"on,off" doc:"off: it is installed with the network and then runs without one (Linux). Default: on."`
	MemoryMiB int64    `json:"memoryMiB,omitempty" minimum:"16" maximum:"1048576" doc:"Memory of all its processes. Default: 2048."`
	Processes int      `json:"processes,omitempty" minimum:"1" maximum:"4096" doc:"How many processes it may have. Default: 64."`
	Exposed   bool     `json:"exposed,omitempty" doc:"The operator's word that others than this machine may call it. Default: a gateway that they reach refuses its calls."`
}

// Line is what a command wrote for people, or what became of it.
type Line struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Output is what a command wrote lately.
type Output struct {
	Lines   []Line `json:"lines" doc:"The newest 200, the oldest of them first, without the credentials of the session; at most 1 KiB of each."`
	Dropped uint64 `json:"dropped" doc:"Older lines that are gone."`
}

// Commands runs commands on this node.
type Commands interface {
	// Address is where a command is called. It depends on nothing but the command. It
	// fails with [problem.InvalidArgument].
	Address(c *Command) (string, error)
	// Add keeps a command, and installs it when it is new here.
	Add(ctx context.Context, c *Command) error
	// Command reads a command by its address. It fails with [problem.NotFound].
	Command(address string) (*Command, error)
	// Output is what the command of an address wrote.
	Output(address string) Output
}

// Require refuses whoever may not add a command: everybody but the operator, and the
// operator where the node does not permit it. A command is code on the node's machine.
func Require(ctx context.Context, on Commands) error {
	if err := request.RequireOperator(ctx); err != nil {
		p := problem.As(err)
		return problem.New(p.Kind, "a command is a program on the machine of the node, and only its operator may add one: %s", p.Detail).
			Fix("ask an administrator of workspace %q", request.Operator)
	}
	if on == nil {
		return problem.New(problem.Forbidden, "this node runs no commands").
			Fix("start it with --allow-commands: then who has the token of an administrator of workspace %q can run programs as the node's user", request.Operator)
	}
	return nil
}

// Short is a command for people.
func (c *Command) Short() string {
	const most = 200
	s := strings.Join(c.Argv, " ")
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
