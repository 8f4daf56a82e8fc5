// Package bound makes the text and bytes of a bun query parameters of the statement: bun writes
// values into the text of SQL, and no text of a record may be part of it. The dialects write
// marks, and the connections of this package take them out again.
//
// It knows no table; package store opens its databases with it.
package bound
