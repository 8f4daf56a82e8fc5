// Package naming makes better names and descriptions of tools by rules: no model, no
// network, the same answer every time.
//
// A name is a verb and an object. The verb is what the texts of the operation say, then
// what its path says, then what its method means; where these contradict each other, or
// none is sure, nothing is proposed. The object is the last thing the path names, with
// the thing it belongs to, and more of the path only where two tools would have one name.
// A name that says that already stays.
//
// It reads texts of strangers and repeats parts of them in descriptions; it never
// obeys, and what it makes is bounded.
package naming
