package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/command"
)

// versionInfo is what "sluice version" prints.
type versionInfo struct {
	Version   string   `json:"version"`
	Commit    string   `json:"commit,omitempty"`
	Go        string   `json:"go"`
	Platform  string   `json:"platform"`
	Protocols []string `json:"mcpVersions"`
}

// protocolVersions of MCP that toolset URLs speak, newest first.
var protocolVersions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Args:  command.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			v := versionInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Protocols: protocolVersions}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						v.Commit = s.Value
					}
				}
			}
			return a.Object(v, func(w io.Writer) {
				fmt.Fprintf(w, "sluice %s (%s, %s)\n", v.Version, v.Go, v.Platform)
			})
		},
	}
}

func versionOrDevel() string { return cmp.Or(version, "devel") }
