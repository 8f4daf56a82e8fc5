// Package layers holds the import rules of this module as a test: which tree may
// import which, which packages inside a tree may meet, which third-party code
// has a home, and how large files and packages may be. It has no code of its own and nothing imports it. See docs/adr/0001.
package layers
