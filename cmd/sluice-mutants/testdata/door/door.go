// Package door is what the tests of sluice-mutants change: one place for each
// operator, and log lines, which are left alone.
package door

import (
	"errors"
	"log/slog"
	"strings"
)

const maxKeys = 4

type state int

const (
	shut state = iota
	open
)

var errShut = errors.New("shut")

type door struct {
	state state
	seen  []string
}

func (d *door) enter(key, name string) error {
	if err := check(key); err != nil {
		return err
	}
	if len(d.seen) >= maxKeys || name == "" {
		slog.Info("refused", "key", key, "name", name)
		return errShut
	}
	d.note(name)
	switch {
	case d.state == open:
		return nil
	}
	return check(join(key[1:min(1, len(key))], name)) // the arguments of min have no order
}

func (d *door) note(name string) { d.seen = append(d.seen, name) }

func join(a, b string) string { return a + b }

func check(s string) error {
	if !strings.Contains(s, "k") {
		return errShut
	}
	return nil
}
