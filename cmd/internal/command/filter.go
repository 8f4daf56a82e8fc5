package command

import (
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

// Filter is what the flags --filter and --sort ask of a list.
type Filter struct{ filter, sort string }

// FilterOf gives a command that lists the flags; filter and sort are examples that its list takes.
func FilterOf(cmd *cobra.Command, filter, sort string) *Filter {
	f := new(Filter)
	cmd.Flags().StringVar(&f.filter, "filter", "", "only what matches all of these, such as '"+filter+"' (docs/admin-api.md)")
	cmd.Flags().StringVar(&f.sort, "sort", "", "fields to sort by, such as '"+sort+"'")
	return f
}

// Of adds what they ask to the path of a list.
func (f *Filter) Of(path string) string {
	q := url.Values{}
	for name, value := range map[string]string{"filter": f.filter, "orderBy": f.sort} {
		if value != "" {
			q.Set(name, value)
		}
	}
	switch {
	case len(q) == 0:
		return path
	case strings.HasSuffix(path, "?"):
		return path + q.Encode()
	case strings.Contains(path, "?"):
		return path + "&" + q.Encode()
	}
	return path + "?" + q.Encode()
}

// Any says whether they ask for anything.
func (f *Filter) Any() bool { return f.filter != "" || f.sort != "" }
