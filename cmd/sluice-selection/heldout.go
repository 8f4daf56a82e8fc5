package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/internal/selection/evaluate"
)

// perSet bounds the requests of a set that weights are fitted on.
const perSet = 500

// heldOut are the sets with what was learned without each of their groups.
type heldOut struct {
	sets    []*evaluate.Set
	tables  map[string]*selection.Table // by group
	learned map[string][]evaluate.Example
}

func readHeldOut(ctx context.Context, in *input, stderr io.Writer) (*heldOut, error) {
	h := &heldOut{tables: map[string]*selection.Table{}, learned: map[string][]evaluate.Example{}}
	var err error
	if h.sets, err = evaluate.Load(in.sets); err != nil {
		return nil, err
	}
	for _, s := range h.sets {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g := groupOf(s.Name)
		if h.tables[g] == nil {
			file := filepath.Join(in.tables, g+".bin")
			b, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading the table made without %s (make selection-tables): %w", g, err)
			}
			if h.tables[g], err = selection.ParseTable(b); err != nil {
				return nil, fmt.Errorf("reading %s: %w", file, err)
			}
		}
		fmt.Fprintln(stderr, "candidates of", s.Name)
		h.learned[s.Name] = evaluate.Examples(s, h.tables[g], perSet)
	}
	return h, nil
}

// without fits the weights on all groups but one; "" on all. The sets have no
// examples: their weight is the package's.
func (h *heldOut) without(group string) *selection.Features {
	var e [][]evaluate.Example
	for _, s := range h.sets {
		if groupOf(s.Name) != group {
			e = append(e, h.learned[s.Name])
		}
	}
	w := evaluate.Fit(e)
	for k, v := range selection.Weights() {
		if !evaluate.Fitted(k) {
			w[k] = v
		}
	}
	return &w
}

// printFit prints the weights as weights.go has them.
func printFit(ctx context.Context, in *input, stdout, stderr io.Writer) error {
	h, err := readHeldOut(ctx, in, stderr)
	if err != nil {
		return err
	}
	w := h.without("")
	for k, name := range selection.FeatureNames {
		if evaluate.Fitted(k) {
			fmt.Fprintf(stdout, "%-18s %f\n", name, w[k])
		}
	}
	return nil
}
