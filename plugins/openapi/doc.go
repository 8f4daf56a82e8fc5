// Package openapi reads an OpenAPI or Swagger specification and makes an
// [operation.Operation] of each of its operations: name, description, published
// schemas, request plan. It reads Swagger 2.0 and OpenAPI 3.0, 3.1 and 3.2, as
// JSON or YAML, directly into the one model; nothing is converted from one
// version to another on the way.
//
// It is not a validator of specifications: what is wrong but understood is
// repaired with a warning, what cannot be compiled is listed with a reason, and
// one bad operation never loses the others. It does no I/O of its own: documents
// that a specification refers to come through [Options.Fetch] or
// [Source.Files].
//
// In the flow it stands first: specification → openapi → operation → projection
// and connector. Stages, each in files of that name: read (bounded ordered
// document with positions; read*.go, document.go), resolve ($ref, budgets;
// resolve.go), normalise (v2.go, v3.go, schema.go), publish (names.go, text.go,
// publish.go, output.go), plan (plan.go).
//
// The input is taken to be hostile: every stage has a bound (see [Limits]), all
// recursion is cut by depth, and the context's deadline ends the work. The same
// bytes give the same operations, always.
//
// Standards: OpenAPI Specification 2.0, 3.0.4, 3.1.2, 3.2.0; JSON RFC 8259;
// YAML 1.2 core schema; JSON Pointer RFC 6901; JSON Schema 2020-12 as far as
// [operation.Schema] goes. The rules by number (docs/openapi-support.md) are
// named in comments as "rule n".
//
// Compile may be called from several goroutines at once; they share nothing.
package openapi
