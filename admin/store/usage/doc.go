// Package usage keeps what nodes report of calls in SQL: usage by minute and hour, what
// calls failed of, the call log and the usage of callers. A report is added once, whatever
// is repeated or comes out of order.
//
// It opens no database and begins no transaction: package store does, whose handles of a
// workspace have the methods of [Reader]. It learns nothing of calls and judges none.
package usage
