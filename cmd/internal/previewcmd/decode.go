package previewcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/answers"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// maxFile is the largest file that preview and decode read: the hard limit of
// an API's answer.
const maxFile = 64 << 20

func (a previewer) decodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "decode FILE|-",
		Short: "Turn table text or TOON back into JSON",
		Long: `Read an answer in table text or TOON, as tools give it, and print the JSON it
stands for. JSON is printed as it is. Lines in brackets at the end, which say how
to get the rest or the next page, are no part of the JSON and go to stderr.`,
		Example: "  sluice decode answer.txt\n  sluice call issues list_issues -q | sluice decode -",
		Args:    command.Exactly(1, "one file, or - for stdin"),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := a.readAnswer(args[0])
			if err != nil {
				return err
			}
			doc, notes, err := answers.Decode(text)
			if err != nil {
				return problem.New(problem.InvalidArgument, "%s is neither JSON nor table text nor TOON: %s", nameOfFile(args[0]), err).Because(err)
			}
			for _, note := range notes {
				a.Say("%s", note)
			}
			if a.Format == "jsonl" || a.Format == "name" {
				return a.WriteResult(append(jsonscan.AppendMinified(nil, doc), '\n'))
			}
			return a.WriteDocument(doc)
		},
	}
}

// readAnswer reads a file of an answer, or stdin.
func (a previewer) readAnswer(name string) ([]byte, error) {
	in := a.In
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
		return nil, problem.New(problem.InvalidArgument, "%s is larger than %s", nameOfFile(name), terminal.ByteSize(maxFile))
	}
	return b, nil
}

func nameOfFile(name string) string {
	if name == "-" {
		return "stdin"
	}
	return name
}
