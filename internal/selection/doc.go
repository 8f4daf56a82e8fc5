// Package selection finds the few tools, out of many, that a request needs. It
// runs offline: word statistics (BM25F), character n-grams, a static embedding
// table that is part of the binary, and a linear reranker over the best
// candidates.
//
// It does not decide what a toolset shows; the publisher builds an [Index] with
// [Build] and stores its bytes, the gateway opens them with [Open] and asks.
//
// Everything is deterministic: the same tools give the same bytes, the same bytes
// and query give the same ranking. An Index is immutable and safe for concurrent
// use; a [Searcher] holds scratch for one goroutine at a time.
package selection
