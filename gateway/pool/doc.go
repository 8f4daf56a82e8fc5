// Package pool is what the nodes behind one balancer share: a Redis or Valkey server that
// keeps the rests of answers, kept answers, the sessions of clients and what callers searched for,
// and counts the requests of callers, so that any node can answer any follow-up and a limit holds
// for all nodes together.
//
// The server is not trusted with anything: values are sealed with AES-256-GCM and bound to
// their names, and names are keyed hashes. The keys are derived from one that the control
// plane gives to its edges, so that nodes of another control plane neither find nor open
// anything. Everything that is kept ends by itself.
//
// Calls never depend on the server. An operation waits for a quarter of a second at most;
// after a failure the server is left alone for a second, and meanwhile each node counts by
// itself and knows only what it keeps.
package pool
