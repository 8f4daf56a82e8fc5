// Package gatewaytest puts a whole gateway together in one process: a connector
// made of a few operations, a toolset, a snapshot, and a listener on a free port of
// the loopback interface. Tests of the data plane and the benchmarks use it.
//
// It is not a mock: every part is the one that runs in production. What it leaves out
// is how a release arrives (package edge), because it stores snapshots itself.
//
// A [Stack] is safe for concurrent use.
package gatewaytest
