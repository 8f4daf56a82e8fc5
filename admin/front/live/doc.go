// Package live notifies clients of changed records, so that they need not poll. It says
// which kind of records changed and never what is in them: who is told reads them as what
// they may read. It looks at the records themselves, so it reports the changes of every
// control plane of a cluster. Server-Sent Events are package admin's.
//
// A [Room] may be used by many goroutines.
package live
