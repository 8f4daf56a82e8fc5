// Package playground describes one call for the playground of the console: the request,
// the answer as received and as shaped, and the time of each stage. It calls nothing and
// keeps nothing: the gateway's pipeline makes the call, and the test of a draft answers
// with it.
package playground
