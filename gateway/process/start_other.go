//go:build !unix

package process

import (
	"os"

	"github.com/sluicegate/sluice/internal/problem"
)

// kept is a keeper that was started.
type kept struct {
	in, out, err    *os.File
	control, report *os.File
	wait            func() error
}

func startKeeper([]string) (*kept, error) {
	return nil, problem.New(problem.Unsupported, "commands are run on Linux and macOS only")
}
