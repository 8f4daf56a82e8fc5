package terminal

import (
	"slices"
	"testing"
)

func TestFit(t *testing.T) {
	f := func(width int, headers, row, want []string) {
		t.Helper()
		got := slices.Clone(row)
		fit([][]string{got}, headers, width)
		if !slices.Equal(got, want) {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	long := "petstore-of-the-northern-region"
	f(80, []string{"name", "state"}, []string{long, "live"}, []string{long, "live"})
	// The widest gives way first, down to what the others have.
	f(47, []string{"name", "a", "b"}, []string{"pets", "0123456789012345678901234", "01234567890123456789"},
		[]string{"pets", "012345678901234567…", "01234567890123456789"})
	f(40, []string{"name", "summary"}, []string{long, "Everything about pets"}, []string{long, "Everyt…"})
	// Where that is not enough, cells keep six characters: a table of the catalog at 80 columns.
	f(30, []string{"id", "name", "tokens", "on"}, []string{"alertmanager", "Prometheus Alertmanager", "1,201 (−18 %)", "yes"},
		[]string{"alertmanager", "Prome…", "1,201…", "yes"})
	// A URL and the name of a row stay whole, however narrow the terminal is.
	f(20, []string{"name", "url"}, []string{long, "http://127.0.0.1:7300/t/petstore"}, []string{long, "http://127.0.0.1:7300/t/petstore"})
	f(20, []string{"名前", "text"}, []string{"日本語日本語日本語日本語", "x"}, []string{"日本語日本語日本語日本語", "x"})
}

func TestNames(t *testing.T) {
	f := func(in string, want ...string) {
		t.Helper()
		if got := namesOf([]byte(in)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	f(`{"id":"ts_1","name":"Pets","slug":"pets"}`, "pets")
	f(`{"id":"k_1"}`, "k_1")
	f(`{"passed":true,"toolset":{"slug":"pets"}}`, "pets")
	f(`[{"name":"a"},{"id":"b"},{}]`, "a", "b")
	f(`{}`)
	f(`"text"`)
	f(`not JSON`)
}
