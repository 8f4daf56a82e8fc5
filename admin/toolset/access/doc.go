// Package access decides who may open the URL of a toolset: it keeps the settings and the
// access tokens, and makes the signed documents that gateways enforce. It also has the
// form of all tokens of a control plane. Requests to the admin API are authenticated in
// package front, and calls in the gateway.
//
// A [Room] may be used by many goroutines.
package access
