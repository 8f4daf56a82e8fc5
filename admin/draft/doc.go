// Package draft defines drafts: a draft is a toolset under change, with its connectors,
// the edits of its tools, its selection, its bindings of plugins and its workflows, and
// the bundle that is made of all that. It loads drafts, changes them and writes their
// records.
//
// It reads no source and compiles nothing, calls no tool, makes nothing live, and knows
// neither routes nor pages of lists: those are of what uses it.
package draft
