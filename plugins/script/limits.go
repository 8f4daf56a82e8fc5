package script

import "time"

// Bounds of every script.
const (
	// MaxCode is the longest script, bytes: a screen of code is 2 KB, and 64 KB hold a table
	// that an agent pasted.
	MaxCode = 64 << 10
	// MaxArguments of a script, bytes of JSON: four times what an agent can write in a turn.
	MaxArguments = 256 << 10
	// DefaultCalls is how many calls of tools a script may make when its caller does not
	// say: what an agent does in an hour, call by call.
	DefaultCalls = 64
	// MaxCalls is the most that its caller can allow: a page of 256 items, each looked up.
	MaxCalls = 256
	// DefaultAtOnce is how many calls run at once; the others wait, in order.
	DefaultAtOnce = 8
	// MaxAtOnce is the most that its caller can allow: with more, one script has most of the
	// 256 connections that a node opens to one host.
	MaxAtOnce = 64
	// OwnTime is the processor time that a script may use itself, without what it waits.
	OwnTime = 2 * time.Second
	// MaxOwnTime is the most that its caller can allow: a node has few processors, and each
	// second of one is taken from the calls of others.
	MaxOwnTime = 30 * time.Second
	// maxSleeps is how many timers may be open at once.
	maxSleeps = 64
	// maxOpen is how many calls and timers may be open at once: MAX_OPEN of glue.c.
	maxOpen = MaxCalls + maxSleeps
	// maxSleep is the longest timer: a script that waits for longer is a job of its own.
	maxSleep = time.Minute
	// maxHeap is what the values of a script may take, bytes: an answer of 8 MB parsed is 27.
	maxHeap = 48 << 20
	// maxPages is the linear memory of an instance, in pages of 64 KB: the heap, and room for
	// the texts that pass the border.
	maxPages = 1024
	// stackSize is C stack: 1,500 calls deep, within the 512 KB of build.sh.
	stackSize = 384 << 10
	// maxAnswer is the longest answer of a tool, and maxValue the longest value of a
	// script, bytes of JSON.
	maxAnswer = 8 << 20
	maxValue  = 8 << 20
	// maxMessage and maxStack are what is kept of an error.
	maxMessage = 4 << 10
	maxStack   = 4 << 10
	// maxLogLine and maxLogLines bound what a script logs; what is past them is dropped.
	maxLogLine  = 2 << 10
	maxLogLines = 100
	// maxRunning is how many scripts run at once, with 64 MB each at worst; others wait.
	maxRunning = 16
	// maxIdle is how many instances wait for the next run: 2 MB each.
	maxIdle = 4
	// patience is how long a script waits for its turns, or to begin.
	patience = 2 * time.Second
	// quantum is how many units of package module run between two looks at the time, and
	// freeQuanta how many a run may use before it takes turns: as with plugins.
	quantum    = 1 << 18
	freeQuanta = 8
	// leastStretch is how long a script computes between two looks at what it has used: the
	// time that a quantum takes in ordinary code.
	leastStretch = 250 * time.Microsecond
	// grace is what a stopped script has to end by itself, with its error, before it is cut
	// off: QuickJS ends a loop of a script, but not a builtin function that runs for long.
	grace = 5 * time.Millisecond
)
