// Package demo is a small REST API to try Sluice on without a network: issues,
// customers and charges, projects and tickets, with the field names, nesting and
// families of links that public APIs of these kinds have. It describes itself in
// an OpenAPI 3.1 document, which is made from the same table that routes requests,
// so document and behaviour cannot drift apart.
//
// It is not a mock for tests of the gateway (internal/upstreamtest is) and knows
// nothing of Sluice. Data are the same at every start and live in memory; writes
// are visible until the process ends. A Server is safe for concurrent use.
package demo
