// Package examples holds plugins that are of use as they are, and to begin from: each a folder
// with its source, plugin.json and golden cases (docs/plugins/gallery.md). Its test builds
// and tests all of them. It has no code of its own.
package examples
