package tracing

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// sampler decides which calls are recorded (OpenTelemetry "Sampling").
type sampler struct {
	byParent bool
	limit    uint64 // of the last eight bytes of a trace id; all below it are recorded
}

// newSampler reads OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG.
func newSampler(name, arg string) (s sampler, err error) {
	ratio := 1.0
	switch name {
	case "", "parentbased_always_on":
		s.byParent = true
	case "always_on":
	case "always_off":
		ratio = 0
	case "parentbased_always_off":
		s.byParent, ratio = true, 0
	case "traceidratio", "parentbased_traceidratio":
		s.byParent = name != "traceidratio"
		if arg != "" {
			if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
				return s, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: %q is not a number from 0 to 1", arg)
			}
		}
	default:
		return s, fmt.Errorf("OTEL_TRACES_SAMPLER: %q is not known: use always_on, always_off, traceidratio, or one of them behind parentbased_", name)
	}
	if s.limit = uint64(ratio * (1 << 63)); ratio == 1 {
		s.limit = math.MaxUint64
	}
	return s, nil
}

// sample decides of a trace; given says that c is the caller's.
func (s *sampler) sample(c *Context, given bool) bool {
	if s.byParent && given {
		return c.Sampled
	}
	return s.limit == math.MaxUint64 || binary.BigEndian.Uint64(c.Trace[8:])>>1 < s.limit
}
