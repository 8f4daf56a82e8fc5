// Package answer compiles what becomes of the answers of a tool: the response program
// of its connector and of the operator, the caller's field mask, the jq expression, the
// output schema that is left, and how the next page is asked for.
//
// It runs none of it: package call does, for each call. It knows neither toolsets nor
// routing (package snapshot does).
//
// A [Plan] is safe for concurrent use.
package answer
