package promtext_test

import (
	"io"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/promtext"
)

func TestWritePage(t *testing.T) {
	page := func(text string) func(io.Writer) {
		return func(w io.Writer) { _, _ = io.WriteString(w, text) }
	}
	var b strings.Builder
	promtext.WritePage(&b,
		page("# HELP sluice_tools\n# TYPE sluice_tools gauge\nsluice_tools 3\n"),
		page("# HELP go_threads\n# TYPE go_threads gauge\ngo_threads 9\n"),
		page("# HELP go_cpu_count\n# TYPE go_cpu_count gauge\ngo_cpu_count 2\n"),
		page("# HELP process_io_read_bytes_total\n# TYPE process_io_read_bytes_total gauge\nprocess_io_read_bytes_total 2\n"),
		page("# HELP unknown\n# TYPE unknown gauge\nunknown{a=\"go_cpu_count 1\"} 2\n"),
		page("# HELP other Its own text.\n# TYPE other gauge\nother 1\n"),
	)
	want := "# HELP sluice_tools Tools that are served.\n# TYPE sluice_tools gauge\nsluice_tools 3\n" +
		"# HELP go_threads Of the Go runtime: threads.\n# TYPE go_threads gauge\ngo_threads 9\n" +
		"# HELP process_io_read_bytes_total Of this process: io read bytes total.\n# TYPE process_io_read_bytes_total counter\nprocess_io_read_bytes_total 2\n" +
		"# TYPE unknown gauge\nunknown{a=\"go_cpu_count 1\"} 2\n" +
		"# HELP other Its own text.\n# TYPE other gauge\nother 1\n"
	if b.String() != want {
		t.Fatalf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestHelp: each text is one sentence that needs no escaping.
func TestHelp(t *testing.T) {
	for name, text := range promtext.Help {
		if strings.ContainsAny(text, "\\\n") || !strings.HasSuffix(text, ".") || !strings.HasPrefix(name, "sluice_") && !strings.HasPrefix(name, "mcp_") {
			t.Errorf("%s: %q", name, text)
		}
	}
}
