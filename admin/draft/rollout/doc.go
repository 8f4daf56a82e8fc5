// Package rollout tests drafts, makes them live as revisions, goes back to older ones and
// takes toolsets out of the release.
//
// It changes no draft beyond what it records of tests and revisions, signs no release,
// which package publish does, and calls no tool itself: what runs one is given to it.
package rollout
