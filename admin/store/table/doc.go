// Package table has the common parts of tables of records: times as columns, the column of
// the workspace, and pages of a list, with search, filter and order in SQL. It knows no
// record and opens no database; package store does.
package table
