// Package catalog reads the catalog of pre-built connectors: entries that say where the
// OpenAPI document of an API or an MCP server is, how one authenticates there, and which
// of its operations are worth having as tools, under which names and with which answers.
//
// An entry is a YAML file of at most 256 KiB, described by entry.schema.json. It never
// holds a vendor's document: that is read when somebody adds the entry, and [Entry.Fit]
// says what of the entry it no longer has. The package reads and checks entries; it makes
// no connector and opens no connection.
package catalog
