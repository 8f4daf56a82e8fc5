// Package transfer writes toolsets as documents, and makes them what documents say: it
// plans, which changes nothing, and applies. What the documents are is of [declare]; how
// a source is read again and what a new version changes is not here.
package transfer
