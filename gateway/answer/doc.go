// Package answer compiles the processing of a tool's answers: the response program of its
// connector and of the operator, the caller's field mask, the jq expression, the
// remaining output schema, and the request for the next page.
//
// It runs none of it: package call does, for each call. It knows neither toolsets nor
// routing (package snapshot does).
//
// A [Plan] is safe for concurrent use.
package answer
