// Package audit shows and checks the audit log, writes the records that belong to no other
// change, and keeps the head of each workspace's log outside of the database.
//
// Refused requests are recorded in samples, so that whoever is refused cannot fill the
// disk ([Log.Denied]).
//
// The head is the number and the hash of the newest record, in a DSSE envelope signed by
// the release key, in one file a workspace. The records are chained by their hashes, so
// that a change or a gap is found from the records alone; a tail that was cut off is
// found only by a head that was kept elsewhere. It does not protect against somebody who
// has the release key. Operators who want more than one place give the envelope that
// [Keeper.Head] returns to another machine and compare it later with
// [Keeper.VerifyHead].
//
// Records of a change are written with it, in its transaction, by who makes it.
//
// A Log and a Keeper are safe for concurrent use.
package audit
