package command

import (
	"context"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/client"
)

// completionTimeout bounds what a shell waits for after the Tab key.
const completionTimeout = 2 * time.Second

// source reads the names that a placeholder stands for. args are those before it.
type source func(ctx context.Context, c *client.Client, args []string) (iter.Seq[string], error)

// sources are the placeholders of usage lines whose names the node knows.
var sources = map[string]source{
	"TOOLSET": func(ctx context.Context, c *client.Client, _ []string) (iter.Seq[string], error) {
		list, _, err := client.All[view.Toolset](ctx, c, "/v1/toolsets")
		return namesOf(list, func(t *view.Toolset) string { return t.Slug }), err
	},
	"ENTRY": func(ctx context.Context, c *client.Client, _ []string) (iter.Seq[string], error) {
		list, _, err := client.All[catalog.EntryOutline](ctx, c, "/v1/catalog")
		return namesOf(list, func(i *catalog.EntryOutline) string { return i.ID }), err
	},
	"PLUGIN": func(ctx context.Context, c *client.Client, _ []string) (iter.Seq[string], error) {
		list, _, err := client.All[plugin.Plugin](ctx, c, "/v1/plugins")
		return namesOf(list, func(p *plugin.Plugin) string { return p.Name }), err
	},
	"TOOL": ofToolset(func(ctx context.Context, c *client.Client, t *view.ToolsetDetail) (iter.Seq[string], error) {
		list, _, err := client.All[toolset.Tool](ctx, c, client.ToolsetPath(t, "tools"))
		return namesOf(list, func(t *toolset.Tool) string { return t.Name }), err
	}),
	"MEMBER": func(ctx context.Context, c *client.Client, _ []string) (iter.Seq[string], error) {
		list, _, err := client.All[people.Member](ctx, c, "/v1/members")
		return namesOf(list, func(m *people.Member) string { return m.Email }), err
	},
	"CONNECTOR": ofToolset(func(_ context.Context, _ *client.Client, t *view.ToolsetDetail) (iter.Seq[string], error) {
		return namesOf(t.Connectors, func(c *view.ToolsetConnector) string { return c.Name }), nil
	}),
}

// ofToolset reads names that are a toolset's; the toolset is the first argument.
func ofToolset(read func(context.Context, *client.Client, *view.ToolsetDetail) (iter.Seq[string], error)) source {
	return func(ctx context.Context, c *client.Client, args []string) (iter.Seq[string], error) {
		if len(args) == 0 {
			return slices.Values[[]string](nil), nil
		}
		t, _, err := c.Toolset(ctx, args[0])
		if err != nil {
			return nil, err
		}
		return read(ctx, c, t)
	}
}

func namesOf[T any](list []T, name func(*T) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range list {
			if !yield(name(&list[i])) {
				return
			}
		}
	}
}

// Complete offers names that the node knows to shell completion: for the arguments of
// all commands below root whose usage line names a toolset, tool, plugin, connector or
// member, for the words that it lists and what follows them, and for the flags --tool and
// --connector. prepare reads the configuration. A node that does not answer offers nothing;
// names of files are offered only where a file can stand.
func (s *Session) Complete(root *cobra.Command, prepare func(*cobra.Command) error) {
	for _, cmd := range root.Commands() {
		s.Complete(cmd, prepare)
	}
	line := places(root.Use)
	if root.ValidArgsFunction == nil && len(root.ValidArgs) == 0 && len(line) > 0 {
		root.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return s.offer(cmd, prepare, next(line, args), args, prefix)
		}
	}
	for flag, name := range map[string]string{"tool": "TOOL", "connector": "CONNECTOR"} {
		if root.Flags().Lookup(flag) == nil || len(line) == 0 || line[0].name == "" {
			continue
		}
		if _, has := root.GetFlagCompletionFunc(flag); has {
			continue
		}
		err := root.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return s.offer(cmd, prepare, place{name: name}, args, prefix)
		})
		if err != nil {
			panic("BUG: " + err.Error())
		}
	}
}

func (s *Session) offer(cmd *cobra.Command, prepare func(*cobra.Command) error, p place, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	if p.files {
		directive = cobra.ShellCompDirectiveDefault
	}
	offered := slices.Clone(p.words)
	if read := sources[p.name]; read != nil && prepare(cmd) == nil {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		if names, err := read(ctx, s.Client(), args); err == nil {
			offered = slices.AppendSeq(offered, names)
		}
	}
	return slices.DeleteFunc(offered, func(n string) bool { return !strings.HasPrefix(n, prefix) }), directive
}

// place is one argument of a usage line.
type place struct {
	name  string   // a key of sources, or ""
	words []string // that can stand there as they are
	files bool     // a file or folder can stand there
	again bool     // any number of times

	after map[string][]place // what follows a word
}

// next is the place of what follows args. Where nothing more can stand, it is none.
func next(line []place, args []string) place {
	for _, arg := range args {
		if len(line) == 0 {
			return place{}
		}
		if follows, ok := line[0].after[arg]; ok {
			line = follows
		} else if !line[0].again {
			line = line[1:]
		}
	}
	if len(line) == 0 {
		return place{}
	}
	return line[0]
}

var (
	placeWords = regexp.MustCompile(`\[[^\]]*\]…?|\S+`)
	fileNames  = regexp.MustCompile(`^(FILE|DIR|SPEC|ZIP)\b`)
	lowerWord  = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// places reads the arguments of a usage line such as
// "access TOOLSET [show | set none|token|jwt | token revoke ID]".
func places(use string) []place {
	var out []place
	fields := placeWords.FindAllString(use, -1)
	for _, field := range fields[min(1, len(fields)):] {
		p := place{again: strings.HasSuffix(strings.TrimRight(field, "]"), "…") && !strings.Contains(field, " ")}
		field = strings.TrimSuffix(strings.Trim(field, "[]…"), "…")
		if strings.HasPrefix(field, "-") {
			continue
		}
		separator := "|"
		if strings.Contains(field, " | ") { // each choice may have some of its own
			separator = " | "
		}
		for choice := range strings.SplitSeq(field, separator) {
			first, _, _ := strings.Cut(strings.TrimSpace(choice), " ")
			name, _, _ := strings.Cut(first, "[")
			switch {
			case sources[name] != nil:
				p.name = name
			case lowerWord.MatchString(first) && !slices.Contains(p.words, first):
				p.words = append(p.words, first)
				if follows := places(strings.TrimSpace(choice)); separator == " | " && len(follows) > 0 {
					if p.after == nil {
						p.after = map[string][]place{}
					}
					p.after[first] = follows
				}
			case fileNames.MatchString(first):
				p.files = true
			}
		}
		out = append(out, p)
	}
	return out
}
