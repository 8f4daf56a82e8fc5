//go:build !race

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestDocumentedLines: every command line of the documentation, of illustrations too and in
// the middle of a sentence, has commands and flags that there are; one in a block has the
// arguments that its command takes.
func TestDocumentedLines(t *testing.T) {
	pages := []string{"../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md"}
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") && !strings.Contains(path, "/adr/") { // decisions are of their day
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	inline := regexp.MustCompile("`(sluice [^`]+)`")
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		prose := string(text)
		for _, b := range blocks(prose) {
			body := strings.Join(b.lines, "\n")
			prose = strings.Replace(prose, body, "", 1)
			transcript := strings.HasPrefix(body, "$ ") || strings.Contains(body, "\n$ ")
			for line := range strings.SplitSeq(strings.ReplaceAll(body, "\\\n", " "), "\n") {
				if transcript && !strings.HasPrefix(line, "$ ") {
					continue // what a command prints
				}
				for _, words := range sluiceCommands(strings.TrimPrefix(line, "$ ")) {
					if len(words) > 0 && printed.MatchString(words[0]) {
						continue // what a node prints first
					}
					checked++
					if fault := parseFault(words, true); fault != "" {
						t.Errorf("%s:%d: sluice %s: %s", page, b.line, strings.Join(words, " "), fault)
					}
				}
			}
		}
		for _, m := range inline.FindAllStringSubmatch(prose, -1) {
			for _, words := range sluiceCommands(strings.ReplaceAll(m[1], `\|`, "|")) {
				checked++
				if fault := parseFault(words, false); fault != "" {
					t.Errorf("%s: `%s`: %s", page, m[1], fault)
				}
			}
		}
	}
	if checked < 500 {
		t.Errorf("only %d command lines were found", checked)
	}
}

// parseFault says what is wrong with the words behind "sluice"; "": nothing.
func parseFault(words []string, whole bool) string {
	root := (&app{}).rootCommand()
	root.InitDefaultCompletionCmd()
	found, rest, err := root.Find(words)
	if err != nil {
		return err.Error()
	}
	if found.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && found.Args == nil {
		return "there is no command " + rest[0]
	}
	for i, w := range rest {
		if placeholder.MatchString(w) && i > 0 && strings.HasPrefix(rest[i-1], "--") {
			rest[i] = "1" // for a number, and good for a text
		}
	}
	if err := found.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err.Error()
	}
	if !whole || found.Flags().Changed("help") || slices.Contains(rest, "…") {
		return ""
	}
	if err := found.ValidateArgs(found.Flags().Args()); err != nil {
		return err.Error()
	}
	return ""
}

var printed = regexp.MustCompile(`^v[0-9]+\.`)

// placeholder is a word that somebody replaces.
var placeholder = regexp.MustCompile(`^[A-Z]+$`)

// sluiceCommands are the words behind "sluice" of each call of it in a line of a shell. Of
// alternatives, a|b, it is the first.
func sluiceCommands(line string) (out [][]string) {
	var words []string
	end := func() {
		for i, w := range words {
			if strings.Contains(w, "=") && i == 0 {
				continue // a variable of the command
			}
			if w == "sluice" && (i == 0 || strings.Contains(words[i-1], "=")) {
				out = append(out, words[i+1:])
			}
			break
		}
		words = nil
	}
	word, quote, quoted := "", byte(0), false
	flush := func() {
		if word != "" || quoted {
			words = append(words, word)
		}
		word, quoted = "", false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
				continue
			}
			word += line[i : i+1]
		case c == '\'' || c == '"':
			quote, quoted = c, true
		case c == '#' && word == "":
			i = len(line)
		case c == ' ' || c == '\t':
			flush()
		case c == '|' && word != "" && i+1 < len(line) && line[i+1] != ' ' && line[i+1] != '|':
			for i+1 < len(line) && line[i+1] != ' ' {
				i++
			}
		case c == '|' || c == ';' || c == '&':
			flush()
			end()
		case c == '>' || c == '<':
			flush()
			for i++; i < len(line) && line[i] == ' '; i++ {
			}
			for ; i < len(line) && line[i] != ' '; i++ {
			}
		default:
			word += line[i : i+1]
		}
	}
	flush()
	end()
	return out
}
