package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/cmd/internal/command"
)

// manCommand writes the manual pages. It is hidden: who packages the program needs it.
// tree makes the commands of a program.
func (a *app) manCommand(tree func(*app) *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages of all commands to a directory",
		Long:   "Writes a page of section 1 for each command. SOURCE_DATE_EPOCH, seconds since\n1970, is the date that they name; without it, it is today's.",
		Hidden: true,
		Args:   command.Exactly(1, "a directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // manual pages are for everybody
				return fmt.Errorf("create the directory of the manual pages: %w", err)
			}
			root := tree(&app{}) // of its own, because its texts are changed
			forManual(root)
			header := &doc.GenManHeader{Section: "1", Source: "Sluice " + versionOrDevel(), Manual: "Sluice Manual"}
			err := doc.GenManTreeFromOpts(root, doc.GenManTreeOptions{Header: header, Path: args[0], CommandSeparator: "-"})
			if err != nil {
				return fmt.Errorf("write the manual pages: %w", err)
			}
			pages, err := filepath.Glob(filepath.Join(args[0], "sluice*.1"))
			if err != nil {
				return err
			}
			return a.Object(map[string]any{"directory": args[0], "pages": len(pages)}, func(w io.Writer) {
				fmt.Fprintf(w, "%d pages in %s\n", len(pages), args[0])
			})
		},
	}
}

// forManual turns the texts of the commands into the Markdown that the library expects.
func forManual(root *cobra.Command) {
	// A page of its own for each topic would be looked for by nobody.
	var topics strings.Builder
	for _, c := range root.Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			_, text, _ := strings.Cut(c.Long, "\n") // its first line is a title
			fmt.Fprintf(&topics, "\n\n# %s\n%s", strings.ToUpper(strings.ReplaceAll(c.Name(), "-", " ")), manualText(text))
		}
	}
	forEachCommand(root, func(c *cobra.Command) {
		c.DisableAutoGenTag = true
		name, arguments, _ := strings.Cut(c.Use, " ")
		c.Use = strings.TrimSpace(name + " " + manualEscape(arguments))
		c.Long, c.Short = manualText(c.Long), manualEscape(c.Short)
		each := func(f *pflag.Flag) {
			_, usage := pflag.UnquoteUsage(f)
			f.Usage = manualEscape(usage)
		}
		c.LocalFlags().VisitAll(each)
	})
	root.Long += topics.String()
}

// manualText renders the text of a command's help: what is indented there stays as it is.
func manualText(text string) string {
	var b strings.Builder
	verbatim := false
	for line := range strings.Lines(text) {
		if indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t"); indented || verbatim && strings.TrimSpace(line) == "" {
			if !verbatim {
				b.WriteByte('\n')
			}
			verbatim = true
			b.WriteString("    " + strings.TrimPrefix(strings.TrimPrefix(line, "\t"), "  "))
			continue
		}
		if verbatim {
			b.WriteByte('\n')
		}
		verbatim = false
		b.WriteString(manualEscape(line))
	}
	return b.String()
}

var manualSpecial = regexp.MustCompile("[\\\\`*_{}\\[\\]<>#~|]")

// manualEscape keeps Markdown from reading anything into plain text.
func manualEscape(text string) string { return manualSpecial.ReplaceAllString(text, `\$0`) }
