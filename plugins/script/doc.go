// Package script runs JavaScript that an agent wrote: a few lines that call the tools of a
// toolset, several at once, and return one value.
//
// The engine is QuickJS-NG as a WebAssembly module (module/build.sh) under wazero. It has
// no WASI: all a script reaches are the host calls of module/glue.c, and of these
// only [Tools] leads out of the process. The package does not know toolsets, access or
// credentials; gateway/call hands it a Tools that does.
//
// Scripts are untrusted. Code is metered (package module) but for the loop of the
// interpreter, which asks the host itself; the host counts the processor time of each
// run and lets long ones take turns with plugins (package turns). After each run
// the memory of an instance is a copy of what it was before the first, and an instance
// that was stopped, trapped or grew is dropped: nothing is left for the next run.
//
// An [Engine] is safe for concurrent use.
//
// Language: ECMA-262, 2025, as QuickJS-NG 0.16 has it, without modules.
package script
