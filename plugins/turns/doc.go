// Package turns shares the processors among untrusted WebAssembly code: plugins and
// scripts.
//
// Calls that run for long, or beside others of their share, take turns: as many run at
// once as there are processors but one, so that one is left for everybody else: calls
// that run no such code, garbage collections, and the timers that stop who waits. A share
// is a toolset. Turns go to the shares in turn, whatever number of calls each has, and those of
// a share to its callers in turn. [Places] bounds how many calls go on at once, in the same way.
//
// It does not stop code: packages extism and script do, each time their metered code
// asks, with the processor time that a [Clock] counted.
package turns
