// Package transfer exports toolsets as documents and imports documents: a plan changes
// nothing, then it is applied. What the documents are is of [declare]; how a source is
// read again and what a new version changes is not here.
package transfer
