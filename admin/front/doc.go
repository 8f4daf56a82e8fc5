// Package front is around every request of the admin API: its id and host, who asks, the
// bound of its body, the answer of a repeated one, and the problem that an error becomes.
// What an operation decides is not here.
package front
