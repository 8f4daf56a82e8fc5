// Package workflow keeps the workflow documents of a toolset: which operations of its
// connectors their steps are, which of them can run at present, and what a release has of
// them. It stores nothing itself, and documents are read and run by plugins/arazzo.
package workflow
