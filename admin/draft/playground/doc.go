// Package playground describes what the console's playground shows of one call: the
// request, the answer as received and as shaped, and where the time went. It calls
// nothing and keeps nothing: the gateway's pipeline makes the call, and the test of a
// draft answers with it.
package playground
