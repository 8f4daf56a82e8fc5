package extism

import (
	"errors"

	"github.com/sluicegate/sluice/plugins/turns"
)

// takeTurn gives the turn of a call to one that waits, if any does, and waits for the
// next. It fails when there is no place, at the end of the call's patience, and when the
// caller gives up.
func (i *Instance) takeTurn() error {
	switch err := i.turn.Take(i.ctx, i.deadline); {
	case err == nil:
		return nil
	case errors.Is(err, turns.ErrBusy):
		return ErrBusy
	}
	return ErrDeadline
}
