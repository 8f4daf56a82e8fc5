// Package audithead keeps the head of each workspace's audit log outside of the
// database: the number and the hash of its newest record, in a DSSE envelope signed by
// the release key, in one file a workspace. The records are chained by their hashes, so
// that a change or a gap is found from the records alone; a tail that was cut off is
// found only by a head that was kept elsewhere.
//
// It does not write records, and it does not protect against somebody who has the
// release key. Operators who want more than one place give the envelope that
// [Keeper.Head] returns to another machine and compare it later with
// [Keeper.VerifyHead].
//
// A Keeper is safe for concurrent use.
package audithead
