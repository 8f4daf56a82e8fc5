// Package errorbody takes from the body of an error answer what an agent can use: the messages of
// the API, whole items of a long list of faults, or the text of a page.
//
// What the status means and what to do about it is said by package call, which has the filters
// of the tool look at the body first.
package errorbody
