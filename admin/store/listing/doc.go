// Package listing is what the lists of the admin API have in common: the fields that one
// can search, filter and sort by, the language of filters, and pages of lists that are in
// memory. It knows no record and no database: package store turns a [Query] into SQL.
package listing
