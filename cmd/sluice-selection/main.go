package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/cmd/internal/tool"
	"github.com/sluicegate/sluice/internal/selection/evaluate"
)

// input is where things are.
type input struct {
	sets   string // folder of sets
	tables string // folder of the tables made without one group each
	specs  string // folder of specifications, one folder for each
	needs  string // the file of needs
	to     string // document with the marks
	spec   string // one specification, of measure
}

func main() { tool.Main("sluice-selection", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	commands := map[string]func(context.Context, *input, io.Writer, io.Writer) error{
		"report": writeReport, "fit": printFit, "measure": printMeasures, "groups": printGroups, "names": writeNames, "needs": writeNeeds,
	}
	var command func(context.Context, *input, io.Writer, io.Writer) error
	if len(args) > 0 {
		command = commands[args[0]]
	}
	if command == nil {
		return errors.New("say one of report, needs, names, fit, measure, groups")
	}
	corpus := os.Getenv("SLUICE_CORPUS")
	var in input
	fs := flag.NewFlagSet("sluice-selection "+args[0], flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&in.sets, "sets", filepath.Join(corpus, "selection"), "`DIR` of the sets")
	fs.StringVar(&in.specs, "specs", filepath.Join(corpus, "specs"), "`DIR` of the specifications")
	fs.StringVar(&in.tables, "held-out", "bin/embedding/held-out", "`DIR` of the tables, each made without one group")
	fs.StringVar(&in.needs, "needs", "cmd/sluice-selection/testdata/needs.tsv", "`FILE` of the needs")
	fs.StringVar(&in.to, "to", "docs/selection.md", "`FILE` to write the tables into")
	fs.StringVar(&in.spec, "github", "", "`FILE` with GitHub's specification, for measure")
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	if corpus == "" && args[0] != "measure" && in.sets == "selection" {
		return errors.New("SLUICE_CORPUS is not set and -sets names no folder: there is nothing to measure on")
	}
	return command(ctx, &in, stdout, stderr)
}

// groupOf is the group a set belongs to: sets of one origin share tools or wording.
func groupOf(set string) string {
	switch set {
	case "metatool_single", "metatool_multi":
		return "metatool"
	case "gorilla_torchhub", "toolret_gorilla_huggingface":
		return "gorilla"
	}
	return set
}

// printGroups prints a line for each group: its name and its sets with commas.
func printGroups(_ context.Context, in *input, stdout, _ io.Writer) error {
	sets, err := evaluate.Load(in.sets)
	if err != nil {
		return err
	}
	members := map[string][]string{}
	var order []string
	for _, s := range sets {
		g := groupOf(s.Name)
		if members[g] == nil {
			order = append(order, g)
		}
		members[g] = append(members[g], s.Name)
	}
	slices.Sort(order)
	for _, g := range order {
		fmt.Fprintln(stdout, g, strings.Join(members[g], ","))
	}
	return nil
}

func printMeasures(ctx context.Context, in *input, stdout, _ io.Writer) error {
	m, err := measure(ctx, in.spec)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(m)
}
