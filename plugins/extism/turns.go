package extism

import (
	"context"
	"errors"
	"time"

	"github.com/sluicegate/sluice/plugins/turns"
)

// takeTurn gives the turn of a call to one that waits, if any does, and waits for the
// next. It fails when there is no place, at the end of the call's patience, and when the
// caller gives up.
func (i *Instance) takeTurn(take func(context.Context, time.Time) error) error {
	switch err := take(i.ctx, i.deadline); {
	case err == nil:
		return nil
	case errors.Is(err, turns.ErrBusy):
		return ErrBusy
	}
	return ErrDeadline
}
