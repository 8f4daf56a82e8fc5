package callcmd

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/streamable"
)

func (a calls) connectCommand() *cobra.Command {
	var headerFile string
	cmd := &cobra.Command{
		Use:   "connect TOOLSET|URL",
		Short: "Bridge stdio to a toolset URL, for clients that only start programs",
		Long: `Bridge an MCP client that speaks over stdin and stdout to a toolset URL. This is
what Claude Desktop and other applications start that take no URLs:

  {"mcpServers": {"petstore": {"command": "sluice", "args": ["connect", "petstore"]}}}

Both protocol eras pass: messages go through unchanged, headers are added.`,
		Example: "  sluice connect petstore\n  sluice connect https://gateway.example/t/petstore --header-file headers.txt",
		Args:    command.Exactly(1, "one toolset or URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := a.liveURL(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			hc, err := a.HTTPClient()
			if err != nil {
				return err
			}
			b := &streamable.Bridge{URL: target, HTTP: hc, Version: a.Version, Log: a.Say, Explain: asUnreachableText}
			if headerFile != "" {
				if b.Header, err = readHeaders(headerFile); err != nil {
					return err
				}
			}
			a.Streams()
			return b.Run(cmd.Context(), a.In, a.Out)
		},
	}
	cmd.Flags().StringVar(&headerFile, "header-file", "", "file with headers to send, one \"Name: value\" a line")
	return cmd
}

// readHeaders reads headers from a file, so that no secret is on a command line.
func readHeaders(path string) (http.Header, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the headers: %w", err)
	}
	h := http.Header{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, exit.Usagef("%s has a line that is not a header; write Name: value", path)
		}
		h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return h, nil
}

func asUnreachableText(err error) string {
	if p := exit.AsUnreachable(err); p != nil {
		return p.Error()
	}
	return err.Error()
}
