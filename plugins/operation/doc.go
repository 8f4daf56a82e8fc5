// Package operation is the model of one upstream operation, the same whatever
// it was read from: what the agent sees of it (name, description, schemas), how
// its arguments become an HTTP request ([Plan]), and what is checked first
// ([Schema]).
//
// It does not read specifications (package openapi does), knows nothing of
// WebAssembly (package connector packs operations into a plugin) and sends
// nothing (the gateway does).
//
// Serialisation follows OpenAPI 3.2 "Style Values", RFC 6570 where that defines
// the style, WHATWG URL for form bodies and RFC 7578 for multipart bodies.
//
// All types are plain data; once built they are immutable and safe for
// concurrent use.
package operation
