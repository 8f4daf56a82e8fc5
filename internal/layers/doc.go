// Package layers holds the import rules of this module as a test: which tree may
// import which, which packages inside a tree may meet, and which third-party code
// has a home. It has no code of its own and nothing imports it. See docs/adr/0001.
package layers
