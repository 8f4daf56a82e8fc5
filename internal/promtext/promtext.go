// Package promtext writes pages in the Prometheus text exposition format (version 0.0.4)
// and holds the help text of each metric of Sluice. Names and labels follow the
// conventions of Prometheus and, where there is one, the semantic convention of OpenTelemetry.
package promtext

import (
	"bytes"
	"io"
)

// ContentType is what a page is served as.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// WritePage writes what the parts write as one page: a HELP line without text gets the
// text of [Help], and one that has none there is left out. An error of w is dropped: whoever asked is gone.
func WritePage(w io.Writer, parts ...func(io.Writer)) {
	var page bytes.Buffer
	for _, part := range parts {
		part(&page)
	}
	var out bytes.Buffer
	out.Grow(page.Len() + 4096)
	for line := range bytes.Lines(page.Bytes()) {
		name, ok := bytes.CutPrefix(line, []byte("# HELP "))
		name = bytes.TrimSpace(name)
		if !ok || bytes.IndexByte(name, ' ') >= 0 {
			out.Write(line)
			continue
		}
		if text := Help[string(name)]; text != "" {
			out.WriteString("# HELP " + string(name) + " " + text + "\n")
		}
	}
	_, _ = w.Write(out.Bytes())
}
