// Package atomicfiletest is a file system for tests that knows what a power cut
// would leave. It works on a real directory, so that code under test reads with
// package os, and keeps beside it what was synced. Tests only.
package atomicfiletest
