package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// maxFile is the largest file that preview and decode read: the hard limit of
// an API's answer.
const maxFile = 64 << 20

func (a *app) decodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "decode FILE|-",
		Short: "Turn table text or TOON back into JSON",
		Long: `Read an answer in table text or TOON, as tools give it, and print the JSON it
stands for. JSON is printed as it is. Lines in brackets at the end, which say how
to get the rest or the next page, are no part of the JSON and go to stderr.`,
		Example: "  sluice decode answer.txt\n  sluice call issues list_issues -q | sluice decode -",
		Args:    exactly(1, "one file, or - for stdin"),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := a.readAnswer(args[0])
			if err != nil {
				return err
			}
			doc, notes, err := decodeAnswer(text)
			if err != nil {
				return problem.New(problem.InvalidArgument, "%s is neither JSON nor table text nor TOON: %s", nameOfFile(args[0]), err).Because(err)
			}
			for _, note := range notes {
				a.say("%s", note)
			}
			if a.flags.output == "jsonl" {
				return a.write(append(jsonscan.AppendMinified(nil, doc), '\n'))
			}
			return a.writeDocument(doc)
		},
	}
}

// decodeAnswer returns the JSON that an answer stands for, and the lines behind it
// that are notes to the agent. Table text is never valid JSON; TOON is table text
// only where both stand for the same.
func decodeAnswer(text []byte) (doc []byte, notes []string, err error) {
	text = bytes.TrimSuffix(text, []byte{'\n'})
	for {
		doc, failed := decodeText(text)
		if failed == nil {
			return doc, notes, nil
		}
		if err == nil {
			err = failed // of the whole text
		}
		cut := bytes.LastIndexByte(text, '\n')
		if line := text[cut+1:]; cut < 0 || !isNote(line) {
			return nil, nil, err
		}
		notes = slices.Insert(notes, 0, string(text[cut+1:]))
		text = text[:cut]
	}
}

func decodeText(text []byte) ([]byte, error) {
	if json.Valid(text) {
		return text, nil
	}
	doc, err := compress.DecodeTable(nil, text)
	if err == nil {
		return doc, nil
	}
	if looksTOON(text) {
		return compress.DecodeTOON(nil, text)
	}
	return nil, err
}

// looksTOON tells TOON from damaged table text, much of which TOON's decoder would
// take for comments and strings: there is no type in front, and what follows the
// first colon outside quotes is a blank, the end of the line or of a header.
func looksTOON(text []byte) bool {
	if len(text) > 0 && text[0] == '#' {
		return false
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	quoted := false
	for i, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted || c != ':':
		case i+1 == len(line):
			return true
		default:
			return bytes.IndexByte([]byte(" ]|\t\r"), line[i+1]) >= 0
		}
	}
	return true
}

// noteStarts are how the lines begin that the gateway writes behind an answer.
var noteStarts = []string{"[items ", "[members ", "[lines ", "[no ", "[nothing beyond ", "[cut: ", "[next page: ", "[left out: ", "[headers: ", "[the stream goes on"}

func isNote(line []byte) bool {
	return bytes.HasSuffix(line, []byte{']'}) && slices.ContainsFunc(noteStarts, func(s string) bool { return bytes.HasPrefix(line, []byte(s)) })
}

// readAnswer reads a file of an answer, or stdin.
func (a *app) readAnswer(name string) ([]byte, error) {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, problem.New(problem.NotFound, "there is no file %s", name)
		case err != nil:
			return nil, problem.New(problem.InvalidArgument, "%s cannot be read: %s", name, errors.Unwrap(err)).Because(err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", nameOfFile(name), err)
	}
	if len(b) > maxFile {
		return nil, problem.New(problem.InvalidArgument, "%s is larger than %s", nameOfFile(name), byteSize(maxFile))
	}
	return b, nil
}

func nameOfFile(name string) string {
	if name == "-" {
		return "stdin"
	}
	return name
}
