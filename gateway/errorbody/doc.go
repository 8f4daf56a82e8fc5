// Package errorbody extracts the part of an error body that an agent can use: the messages of the
// API, whole items of a long list of faults, or the text of a page.
//
// What the status means and what to do about it is said by package call, which has the filters
// of the tool look at the body first.
package errorbody
