package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// blanks are a document of n bytes: as JSON, which is read in a tenth of YAML's time.
func blanks(n int) io.Reader {
	const head = `{"kind": "Toolset"}`
	return io.MultiReader(strings.NewReader(head), io.LimitReader(spaces{}, int64(n-len(head))))
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestMaxDeclared: a declaration as large is read, from a file and from stdin; of one that
// is a byte larger nothing is taken for the whole.
func TestMaxDeclared(t *testing.T) {
	for n, ok := range map[int]bool{maxDeclared: true, maxDeclared + 1: false} {
		a := &app{Session: command.Session{Terminal: terminal.Terminal{In: blanks(n)}}}
		_, err := a.readDeclared("-")
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "longer than") {
			t.Errorf("%d bytes on stdin: %v", n, err)
		}
		name := filepath.Join(t.TempDir(), "a.yaml")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(f, blanks(n)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := readYAML(name); (err == nil) != ok || !ok && !strings.Contains(err.Error(), "longer than") {
			t.Errorf("a file of %d bytes: %v", n, err)
		}
	}
}

// TestMaxCallLogRows: a call log may have as many rows and as few as one, of a minute at
// least; beyond that "sluice serve" says so.
func TestMaxCallLogRows(t *testing.T) {
	for _, c := range []struct {
		rows uint64
		age  time.Duration
		ok   bool
	}{
		{maxCallLogRows, time.Hour, true},
		{maxCallLogRows + 1, time.Hour, false},
		{1, time.Minute, true},
		{0, time.Minute, false},
		{1, time.Minute - 1, false},
	} {
		err := checkCallLog(c.rows, c.age)
		if (err == nil) != c.ok || !c.ok && !strings.Contains(err.Error(), "--call-log-rows is 1 to 10000000") {
			t.Errorf("%d rows of %s: %v", c.rows, c.age, err)
		}
	}
}
