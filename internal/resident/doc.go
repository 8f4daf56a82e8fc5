// Package resident returns memory that a process seldom needs to the operating system.
//
// A start runs code that serving never runs again: it registers hundreds of operations,
// migrates databases, reads catalogs. The pages of the program file that it touched stay in the resident set of the
// process until memory is short on the whole machine, also in a container that is billed
// for them. They are an unchanged copy of the file, so they can be let go at any time:
// what is needed again is mapped again from the page cache, sixteen pages at a time.
package resident
