package extism

import "time"

// Bounds of every plugin, whatever it was granted.
const (
	// maxError is how much of a plugin's error message is kept.
	maxError = 4 << 10
	// maxLogLine and maxLogLines bound what one call may write to the log; what is
	// past them is counted and dropped.
	maxLogLine  = 2 << 10
	maxLogLines = 100
	// maxName is the longest name of a setting or a variable: it is copied with each use.
	maxName = 64 << 10
	// maxHTTPRequest is the longest request description; bodies are bounded by memory.
	maxHTTPRequest = 64 << 10
	// maxHTTPCalls is how many requests one call may make.
	maxHTTPCalls = 16
	// maxHTTPWait is how long the requests of one call may take together: an agent that
	// waits longer gives up.
	maxHTTPWait = 10 * time.Second
	// maxShownHost is how much of a host name is shown.
	maxShownHost = 260
	// startTime is what an instance has to start in: Go's runtime needs 3 ms, GHC's 1.
	startTime = 500 * time.Millisecond
	// quantum is how many units of package module run between two looks at the
	// deadline: about a quarter of a millisecond of ordinary code, a few at worst.
	quantum = 1 << 18
	// shortestStretch is how long a plugin runs at least between two looks at the deadline and
	// at who waits: a quantum of instructions that cost more units than time (growing a
	// memory that cannot grow) would spend most of the processor on handing over turns.
	shortestStretch = 200 * time.Microsecond
	// freeQuanta is how many a call may use before it has to take turns with others that
	// run for long: about 2 ms, more than a filter takes for an answer of usual size.
	freeQuanta = 8
	// patience is how long a call may wait, beyond the time that it may use, for turns and
	// for hosts.
	patience = 2 * time.Second
	// freeStack is the part of a plugin's stack that does not count: a stack begins with
	// 10 KB. retainStack is what an idle instance may keep.
	freeStack   = 64 << 10
	retainStack = 256 << 10
	// stackShare is the part of its memory class that a plugin's stack may have: a quarter.
	stackShare = 4
	// retainKernel is the exchange memory an idle instance may keep.
	retainKernel = 4 << 20
)

// The memory classes: what a plugin's own memory may grow to. The exchange with the
// host (input, output, variables) has as much again.
var classes = [...]int{8 << 20, 32 << 20, 128 << 20}

// Limits bounds one plugin.
type Limits struct {
	// Memory in bytes; rounded up to a class of 8, 32 or 128 MB. Default: 8 MB. More
	// than 128 MB is refused.
	Memory int
	// Deadline is the processor time that one call may use. Default: 100 ms.
	Deadline time.Duration
	// Output is the longest output, bytes. Default: 16 MB.
	Output int
	// Variables is what all variables of a call may hold, bytes, names and 40 bytes
	// for each included. Default: 1 MB.
	Variables int
	// HTTPResponse is the longest body of an answer to http_request. Default: 4 MB.
	HTTPResponse int
	// Concurrent is how many calls of the plugin may run at once, three quarters of them of
	// one owner with a name; others wait as long as a call may wait for its turns. Default:
	// 32.
	Concurrent int
	// Idle is how many instances stay ready, of all owners together. Default: 4.
	Idle int
}

func (l Limits) withDefaults() Limits {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&l.Memory, classes[0])
	def(&l.Output, 16<<20)
	def(&l.Variables, 1<<20)
	def(&l.HTTPResponse, 4<<20)
	def(&l.Concurrent, 32)
	def(&l.Idle, 4)
	if l.Deadline <= 0 {
		l.Deadline = 100 * time.Millisecond
	}
	return l
}

// class returns the index of the smallest class that holds the memory.
func (l Limits) class() (int, bool) {
	for i, c := range classes {
		if l.Memory <= c {
			return i, true
		}
	}
	return 0, false
}
