// Package page cuts an answer that is over the token budget at whole items: the elements of its
// main list, the members of an object, or the lines of a text. It writes the line behind them,
// which says how many there are and how to get the rest, and reads what an agent asks of the
// rest.
//
// It keeps nothing: package held has the whole answer, and package call says what the budget
// is. A [Writer] is memory for one goroutine.
package page
