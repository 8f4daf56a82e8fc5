package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// maxShownDepth is how deep the members of arguments are listed.
	maxShownDepth = 3
	// maxShownDefault is how long a default may be to be shown: connectors have none that is longer,
	// servers may.
	maxShownDefault = 64
	// maxShownChoices is how many allowed values are listed.
	maxShownChoices = 12
)

// showTool prints one tool as clients list it, with its arguments.
func (e *edit) showTool(ctx context.Context, name string) error {
	var t toolset.Tool
	if err := e.Client().Get(ctx, e.path("tools", name), &t); err != nil {
		return err
	}
	return e.Object(t, func(w io.Writer) {
		fmt.Fprintln(w, terminal.Printable(t.Name))
		for line := range strings.SplitSeq(strings.TrimSpace(t.Description), "\n") {
			fmt.Fprintf(w, "  %s\n", terminal.Printable(line))
		}
		row := func(what, value string) {
			if value != "" {
				fmt.Fprintf(w, "%-12s %s\n", what, terminal.Printable(value))
			}
		}
		row("Operation", t.Operation.Method+" "+t.Operation.Path)
		if t.OriginalName != t.Name {
			row("Generated", t.OriginalName)
		}
		row("Hints", strings.Join(hintsOf(&t), ", "))
		if !t.Enabled {
			row("Enabled", "no: clients do not list it")
		}
		row("Definition", terminal.Plural(t.Tokens, "token"))
		input, err := jsonscan.Parse(t.InputSchema, jsonscan.DefaultMaxDepth)
		if err != nil || input.Get("properties").Len() == 0 {
			row("Arguments", "none")
			return
		}
		fmt.Fprintln(w, "Arguments    * is required")
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		appendArguments(tw, input, "  ")
		_ = tw.Flush() // writes where the lines above went
	})
}

// hintsOf are the annotations that are said, as annotate takes them.
func hintsOf(t *toolset.Tool) (hints []string) {
	for _, h := range []struct {
		name string
		on   bool
	}{
		{"read-only", t.Annotations.ReadOnly},
		{"destructive", t.Annotations.Destructive && !t.Annotations.ReadOnly},
		{"idempotent", t.Annotations.Idempotent && !t.Annotations.ReadOnly},
		{"open-world", t.Annotations.OpenWorld},
	} {
		if h.on {
			hints = append(hints, h.name)
		}
	}
	return hints
}

// appendArguments writes a line for each member of an object's schema, and below it those
// of its own object.
func appendArguments(w io.Writer, schema jsonscan.Value, indent string) {
	var required []string
	for it := schema.Get("required").Elements(); it.Next(); {
		required = append(required, string(it.Value().AppendText(nil)))
	}
	for it := schema.Get("properties").Members(); it.Next(); {
		name, v := string(it.KeyText(nil)), it.Value()
		mark := ""
		if slices.Contains(required, name) {
			mark = "*"
		}
		line := indent + terminal.Printable(name) + mark + "\t" + terminal.Printable(typeText(v, 0))
		if text := v.Get("description"); text.Kind() == jsonscan.String {
			line += "\t" + terminal.Printable(terminal.FirstSentence(string(text.AppendText(nil))))
		}
		fmt.Fprintln(w, line)
		for v.Get("items").Exists() {
			v = v.Get("items")
		}
		if len(indent) < 2*maxShownDepth {
			appendArguments(w, v, indent+"  ")
		}
	}
}

// typeText says in words what a schema takes.
func typeText(v jsonscan.Value, depth int) string {
	if depth > maxShownDepth {
		return "…"
	}
	for _, key := range []string{"enum", "anyOf", "oneOf", "type"} {
		list := v.Get(key)
		if list.Kind() != jsonscan.Array {
			continue
		}
		var choices []string
		for it := list.Elements(); it.Next(); {
			one := it.Value()
			text := string(one.Raw())
			switch key {
			case "type":
				text = string(one.AppendText(nil))
			case "anyOf", "oneOf":
				text = typeText(one, depth+1)
			}
			if !slices.Contains(choices, text) {
				choices = append(choices, text)
			}
		}
		if n := len(choices) - maxShownChoices; n > 0 {
			choices = append(choices[:maxShownChoices], fmt.Sprintf("%d more", n))
		}
		return strings.Join(choices, " | ")
	}
	if c := v.Get("const"); c.Exists() {
		return string(c.Raw())
	}
	switch t := v.Get("type"); {
	case t.Kind() != jsonscan.String:
		return "any"
	case string(t.AppendText(nil)) == "array":
		return "list of " + typeText(v.Get("items"), depth+1)
	default:
		return string(t.AppendText(nil)) + limits(v)
	}
}

// limits says in words what a schema asks of a number's size or of a text's length, and its
// default.
func limits(v jsonscan.Value) string {
	out := between(v.Get("minimum"), v.Get("maximum"), "")
	if m := v.Get("exclusiveMinimum"); m.Kind() == jsonscan.Number {
		out += " more than " + string(m.Raw())
	}
	if m := v.Get("exclusiveMaximum"); m.Kind() == jsonscan.Number {
		out += " less than " + string(m.Raw())
	}
	out += between(v.Get("minLength"), v.Get("maxLength"), " characters")
	if m := v.Get("multipleOf"); m.Kind() == jsonscan.Number {
		out += ", multiple of " + string(m.Raw())
	}
	if d := v.Get("default"); d.Exists() && len(d.Raw()) <= maxShownDefault {
		out += ", default " + string(d.Raw())
	}
	return out
}

// between is the range that two limits make; "" where neither is given.
func between(least, most jsonscan.Value, of string) string {
	low, high := least.Kind() == jsonscan.Number, most.Kind() == jsonscan.Number
	switch {
	case low && high:
		return fmt.Sprintf(" %s to %s%s", least.Raw(), most.Raw(), of)
	case low:
		return fmt.Sprintf(" at least %s%s", least.Raw(), of)
	case high:
		return fmt.Sprintf(" at most %s%s", most.Raw(), of)
	}
	return ""
}
