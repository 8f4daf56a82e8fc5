package workflowcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

// offered is one form of what a toolset offers beside the tools of its connectors: the
// commands that list, show and remove it.
type offered[T any] struct {
	*command.Session

	word, path string // what people call one, and where the API has them
	empty      string // what is said of none, of the toolset's slug
	name       func(T) string
	columns    []terminal.Column[T]
	write      func(io.Writer, *T)
}

func (o offered[T]) list(short string) *cobra.Command {
	return &cobra.Command{
		Use: "list TOOLSET", Aliases: []string{"ls"}, Short: short, Args: command.Exactly(1, "a toolset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, t, _, err := o.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			r := command.Resource[T]{Empty: fmt.Sprintf(o.empty, t.Slug), Name: o.name, Columns: o.columns}
			return r.Show(cmd.Context(), o.Session, client.ToolsetPath(t, o.path))
		},
	}
}

func (o offered[T]) show(short string) *cobra.Command {
	return &cobra.Command{
		Use: "show TOOLSET NAME", Aliases: []string{"get"}, Short: short, Args: command.Exactly(2, "a toolset and a "+o.word),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, t, _, err := o.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return command.Get(cmd.Context(), o.Session, client.ToolsetPath(t, o.path, args[1]), o.write)
		},
	}
}

func (o offered[T]) remove(short string) *cobra.Command {
	return &cobra.Command{
		Use: "remove TOOLSET NAME", Aliases: []string{"rm"}, Short: short, Args: command.Exactly(2, "a toolset and a "+o.word),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, t, etag, err := o.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var there json.RawMessage // nobody is asked about one that is not
			if err := c.Get(cmd.Context(), client.ToolsetPath(t, o.path, args[1]), &there); err != nil {
				return err
			}
			if err := o.Confirm(cmd.Context(), "Remove the "+o.word+" "+args[1]+" of "+t.Slug+"?"); err != nil {
				return err
			}
			var out admin.List[T]
			if _, err := c.Do(cmd.Context(), client.Call{Method: http.MethodDelete, Path: client.ToolsetPath(t, o.path, args[1]), Out: &out, IfMatch: etag}); err != nil {
				return err
			}
			return o.Object(out, func(w io.Writer) {
				fmt.Fprintf(w, "Removed %s. Deploy it: sluice toolset test %s\n", args[1], t.Slug)
			})
		},
	}
}

// readFile reads a file of at most so many bytes.
func readFile(name string, most int64) (string, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", problem.New(problem.NotFound, "there is no file %s", name)
	case err != nil:
		return "", exit.Usagef("%s cannot be read: %v", name, errors.Unwrap(err))
	case !info.Mode().IsRegular():
		return "", exit.Usagef("%s is not a file", name)
	case info.Size() > most:
		return "", exit.Usagef("%s has %d bytes, at most %d", name, info.Size(), most)
	}
	text, err := os.ReadFile(name)
	return string(text), err
}
