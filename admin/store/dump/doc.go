// Package dump writes the rows of a database as lines of JSON that SQLite and PostgreSQL both
// read, and fills an empty database with them.
//
// It knows tables and columns, not what is in them: package store says which schema they are of,
// and brings it up to date. One row is in memory at a time.
package dump
