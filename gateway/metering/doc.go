// Package metering counts what the gateway does: calls, tokens, bytes, upstream
// exchanges, time. It writes the Prometheus text format for /metrics, and spools
// exact usage (a [Spool]) that is posted to the control plane and applied there once.
//
// It decides nothing. A counter is looked up once, when a tool
// or a connector is made ready, and only added to on a call: no map, no lock, no
// allocation. Series are made when something is first counted, so a thousand
// toolsets that nobody calls cost nothing; beyond [MaxTools] tools the rest is
// counted together.
//
// Names follow OpenTelemetry's MCP conventions where they have one and start with
// sluice_ where not; labels never hold a user, a URL or a request id.
//
// A [Meter] and everything it gives out is safe for concurrent use; a nil Meter and
// nil counters count nothing.
package metering
