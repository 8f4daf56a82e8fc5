// Package suggest proposes better names and descriptions for the tools of a toolset:
// by fixed rules, and, where the operator named one, by asking an OpenAI-compatible
// chat completions endpoint.
//
// It changes nothing. Every proposal carries a reason, is checked against the rules of
// names, and is offered; package admin applies what a person accepts. It is not needed
// by anything else: without an endpoint the rules work alone.
//
// Texts of specifications come from outside and so do the answers of a model. The
// former are sent as JSON data under an instruction to obey nothing in them; the latter
// are bounded, validated, and dropped with a reason where they do not fit.
//
// A Model is safe for concurrent use; it asks at most [MaxConcurrent] questions at once.
package suggest
