package openapi

import (
	"crypto/sha256"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/sluicegate/sluice/plugins/operation"
)

// deliveryDepth is how many operations may wait for Options.Each: enough that neither
// side waits for the other because of one large operation.
const deliveryDepth = 64

// delivery gives operations to Options.Each in their order, in a goroutine of its own:
// packing them takes a quarter as long as reading them, and there are processors for
// both. Each is never called twice at once.
type delivery struct {
	ops    chan *operation.Operation // closed by end
	ended  bool
	done   chan struct{} // closed when the goroutine has ended
	failed atomic.Bool   // err or panic is set, or will be before done is closed
	err    error         // read after done
	panic  any           // read after done
}

// deliver starts a delivery to each.
func deliver(each func(*operation.Operation) error) *delivery {
	d := &delivery{ops: make(chan *operation.Operation, deliveryDepth), done: make(chan struct{})}
	go d.run(each)
	return d
}

func (d *delivery) run(each func(*operation.Operation) error) {
	defer close(d.done)
	defer func() {
		if p := recover(); p != nil {
			d.panic = fmt.Sprintf("%v\n%s", p, debug.Stack())
			d.failed.Store(true)
			for range d.ops { // until closed: nobody may wait for room
			}
		}
	}()
	for op := range d.ops {
		if d.err != nil {
			continue // until closed
		}
		if d.err = each(op); d.err != nil {
			d.failed.Store(true)
		}
	}
}

// end waits until all was delivered and returns the error of Each. A panic of Each goes
// on here. It may be called more than once.
func (d *delivery) end() error {
	if d == nil {
		return nil
	}
	if !d.ended {
		d.ended = true
		close(d.ops)
	}
	<-d.done
	if p := d.panic; p != nil {
		d.panic = nil
		panic(p)
	}
	return d.err
}

// give hands over an operation. It is false when Each failed, and the error is that of
// end.
func (d *delivery) give(op *operation.Operation) bool {
	if d.failed.Load() {
		return false
	}
	d.ops <- op
	return true
}

// sumLater hashes data meanwhile.
func sumLater(data []byte) <-chan [sha256.Size]byte {
	c := make(chan [sha256.Size]byte, 1)
	go func() { c <- sha256.Sum256(data) }()
	return c
}
