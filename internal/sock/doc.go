// Package sock has TCP connections whose reads and writes cost the process less: the
// scheduler is not told of system calls that return at once. It is no other network: what a
// connection does, its errors and its deadlines are those of package net.
//
// See docs/adr/0073-socket-calls-the-scheduler-does-not-see.md.
package sock
