// Package tracing makes OpenTelemetry spans of calls and sends them to a collector by
// OTLP/HTTP. It is configured by the standard environment variables of OpenTelemetry
// ("OpenTelemetry Environment Variable Specification", "OpenTelemetry Protocol
// Exporter"), and off unless they name a collector. The SDK is not used: with its
// exporter it would add 12 MB to the program, and this is what a gateway needs of it.
//
// A nil *[Tracer] and a nil *[Span] do nothing and allocate nothing.
package tracing
