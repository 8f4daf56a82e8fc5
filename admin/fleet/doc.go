// Package fleet manages edges: it enrols them, gives each the release of its group with
// the credentials and certificates that this release needs, and shows and revokes them. It
// makes no release ([publish.Publisher] does) and opens no credential itself ([Secrets]
// does). The other end of its messages is gateway/edge.
//
// A [Room] may be used by many goroutines.
package fleet
