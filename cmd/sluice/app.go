package main

import (
	"github.com/sluicegate/sluice/cmd/internal/command"
)

// version is set by the build: -ldflags "-X main.version=v0.1.0".
var version = "devel"

// app is one run of the program.
type app struct {
	command.Session
	// mainProcess are the arguments of the first process of the container, when it is
	// this program.
	mainProcess func() []string
}
