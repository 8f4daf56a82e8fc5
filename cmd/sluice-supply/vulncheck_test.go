package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A run that found something, or went wrong, fails; one without data says so.
func TestVulncheck(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/index/db.json") {
			asked.Add(1)
		}
		if strings.HasPrefix(r.URL.Path, "/absent") {
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	local := t.TempDir()
	if err := os.Mkdir(filepath.Join(local, "index"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(local, "index", "db.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		db, exit  string
		ran, fail bool
		says      string
	}{
		"clean":         {server.URL, "0", true, false, ""},
		"local data":    {"file://" + local, "0", true, false, ""},
		"found":         {server.URL, "3", true, true, "can reach known vulnerabilities"},
		"went wrong":    {server.URL, "1", true, true, "exit status 1"},
		"no answer":     {gone.URL, "3", false, false, "govulncheck: not run (vulnerability data cannot be reached)"},
		"another page":  {server.URL + "/absent", "3", false, false, "govulncheck: not run (vulnerability data cannot be reached)"},
		"no local data": {"file://" + local + "/none", "3", false, false, "govulncheck: not run (vulnerability data cannot be reached)"},
	} {
		tool := filepath.Join(t.TempDir(), "govulncheck")
		if err := os.WriteFile(tool, []byte("#!/bin/sh\necho ran $*\nexit "+c.exit+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := run(t.Context(), []string{"vulncheck", "-db", c.db, "-tool", tool}, &out, io.Discard)
		said := out.String()
		if err != nil {
			said += err.Error()
		}
		if ran := strings.Contains(said, "ran -db "+c.db+" ./cmd/sluice"); ran != c.ran || (err != nil) != c.fail || !strings.Contains(said, c.says) {
			t.Errorf("%s: %s", name, said)
		}
	}
	if asked.Load() != 4 {
		t.Errorf("the data was asked for %d times", asked.Load())
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"vulncheck", "-db", server.URL, "-tool", filepath.Join(local, "none")}, &out, io.Discard); err == nil {
		t.Error("without the tool it succeeds")
	}
}
