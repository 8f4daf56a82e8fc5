// Package listing has the common parts of lists of the admin API: fields for search,
// filters and sorting, the language of filters, and pages of lists in memory. It knows no
// record and no database: package store turns a [Query] into SQL.
package listing
