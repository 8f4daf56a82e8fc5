// Package credentials puts authentication on an upstream request: it takes the
// shape of a binding (where a secret goes) from a toolset, the secret from a
// [Source], and writes header, query parameter or cookie.
//
// It does not keep, refresh or decrypt secrets (the control plane does, behind
// Source) and decides nothing about access to a toolset URL (package access
// does). A secret is put on a request to the origin of the connector's base URL
// and nowhere else; package upstream removes it before it follows a
// redirect to another origin. Values that would break out of their place, such as
// a header value with a line feed, are refused and never quoted in an error.
//
// The forms are those of RFC 9110 §11 (Authorization), RFC 7617 (Basic), RFC 6750
// §2.1 (Bearer), RFC 6265 §4.2 (Cookie) and OpenAPI's apiKey schemes.
//
// Rules are immutable and safe for concurrent use; requests are not.
package credentials
