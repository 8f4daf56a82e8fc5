// Package promtext writes pages in the Prometheus text exposition format (version 0.0.4)
// and holds the help text of each metric of Sluice. Names and labels follow the
// conventions of Prometheus and, where there is one, the semantic convention of OpenTelemetry.
package promtext

import (
	"bytes"
	"io"
	"strings"
)

// ContentType is what a page is served as.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// misnamed are metrics of the library whose names say that they are parts of a histogram:
// promtool refuses a page that has them.
var misnamed = map[string]bool{"go_cgo_calls_count": true, "go_cpu_count": true, "go_gc_forced_count": true}

// WritePage writes what the parts write as one page that promtool takes: a HELP line without
// text gets the text of [Help], or one made of the name for what the library says of Go and of
// the process; one that has none is left out. An error of w is dropped: whoever asked is gone.
func WritePage(w io.Writer, parts ...func(io.Writer)) {
	var page bytes.Buffer
	for _, part := range parts {
		part(&page)
	}
	var out bytes.Buffer
	out.Grow(page.Len() + 8192)
	for line := range bytes.Lines(page.Bytes()) {
		writeLine(&out, line)
	}
	_, _ = w.Write(out.Bytes())
}

// writeLine writes a line of a page, unless the page is better without it.
func writeLine(out *bytes.Buffer, line []byte) {
	comment, rest := "", line
	for _, c := range []string{"# HELP ", "# TYPE "} {
		if after, ok := bytes.CutPrefix(line, []byte(c)); ok {
			comment, rest = c, after
		}
	}
	name, text, _ := strings.Cut(strings.TrimSpace(string(rest)), " ")
	switch {
	case misnamed[name]:
	case comment == "# HELP " && text == "":
		if text = helpOf(name); text != "" {
			out.WriteString(comment + name + " " + text + "\n")
		}
	case comment == "# TYPE " && text == "gauge" && strings.HasPrefix(name, "process_") && strings.HasSuffix(name, "_total"):
		out.WriteString(comment + name + " counter\n") // the library has what a process read and wrote as gauges
	default:
		out.Write(line)
	}
}

// helpOf is the help text of a metric; "": there is none.
func helpOf(name string) string {
	if text := Help[name]; text != "" {
		return text
	}
	for prefix, of := range map[string]string{"go_": "Of the Go runtime: ", "process_": "Of this process: "} {
		if words, ok := strings.CutPrefix(name, prefix); ok {
			return of + strings.ReplaceAll(words, "_", " ") + "."
		}
	}
	return ""
}
