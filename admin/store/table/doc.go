// Package table is what every table of records is made of: times as columns, the
// column of the workspace, and pages of a list, whose search, filter and order become
// SQL here. It knows no record and opens no database; package store does.
package table
