package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/specification"
)

// addProgram makes a toolset of a program that speaks MCP over stdio.
func (a *app) addProgram(ctx context.Context, c *client.Client, argv []string, f *addFlags) error {
	if f.baseURL != "" || f.auth.LogsIn() {
		return exit.Usagef("a program has no --base-url and no --auth oauth; it gets credentials with --auth env:NAME")
	}
	var err error
	if f.command, err = f.program.program(argv); err != nil {
		return err
	}
	f.mcp, f.stateless = true, f.stateless || f.program.shared
	spec := specification.Document{Name: filepath.Base(argv[0])}
	if f.to != "" {
		return a.addTo(ctx, c, spec, f)
	}
	made, err := a.fromSource(ctx, c, spec, f)
	if err != nil || made == nil {
		return err
	}
	err = a.Object(made, func(w io.Writer) {
		a.printMade(w, made)
		if !f.stateless {
			fmt.Fprintf(w, "  each session has its own process; one for all: sluice toolset upstream %s --stateless\n", made.Slug)
		}
		fmt.Fprintf(w, "  what it writes: sluice logs %s --stderr\n", made.Slug)
	})
	if err != nil {
		return err
	}
	return leftDraft(&made.Toolset, f)
}
