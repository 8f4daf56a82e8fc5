package command

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// Resource is a kind of record of the admin API, and how a list of it is shown.
type Resource[T any] struct {
	Path    string // of the list
	Empty   string // remark on an empty list. Default: none
	Columns []terminal.Column[T]
	Name    func(T) string // for -o name

	// Filter and Sort are examples of what the list takes. Empty: the list is short; it comes
	// whole, and is not filtered.
	Filter, Sort string
}

// List makes the command that lists all records.
func (r *Resource[T]) List(s *Session, short string) *cobra.Command {
	filter := new(Filter)
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: short, Args: Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return r.ShowFiltered(cmd.Context(), s, r.Path, filter) },
	}
	if r.Filter != "" {
		filter = FilterOf(cmd, r.Filter, r.Sort)
	}
	return cmd
}

// ShowFiltered lists what a filter leaves of the records at a path.
func (r *Resource[T]) ShowFiltered(ctx context.Context, s *Session, path string, f *Filter) error {
	if !f.Any() {
		return r.Show(ctx, s, path)
	}
	some := *r
	some.Empty = "Nothing matches."
	return some.Show(ctx, s, f.Of(path))
}

// Show lists the records at a path, which may have a query.
func (r *Resource[T]) Show(ctx context.Context, s *Session, path string) error {
	items, raw, err := client.All[T](ctx, s.Client(), path)
	if err != nil {
		return err
	}
	if len(items) == 0 && r.Empty != "" {
		s.Say("%s", r.Empty)
	}
	return terminal.List(&s.Terminal, items, raw, r.Columns, r.Name)
}

// Remove makes the command that removes a record by its identifier. use and short are
// those of the command, what is its argument, and done the remark on the identifier.
func (r *Resource[T]) Remove(s *Session, use, short, what, done string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: Exactly(1, what),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.Client().Delete(cmd.Context(), r.Path+"/"+url.PathEscape(args[0]), nil); err != nil {
				return err
			}
			s.Say(done, args[0])
			return nil
		},
	}
}

// Show sends a request and prints its answer: as -o says, or with text for people.
func Show[T any](ctx context.Context, s *Session, r client.Call, text func(w io.Writer, out *T)) error {
	var out T
	r.Out = &out
	if _, err := s.Client().Do(ctx, r); err != nil {
		return err
	}
	return s.Object(out, func(w io.Writer) { text(w, &out) })
}

// Get shows what is at a path.
func Get[T any](ctx context.Context, s *Session, path string, text func(w io.Writer, out *T)) error {
	return Show(ctx, s, client.Call{Method: http.MethodGet, Path: path}, text)
}
