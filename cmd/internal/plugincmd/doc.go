// Package plugincmd has the commands for plugins: making, building, testing, signing and
// running one on its author's machine, publishing it, and binding it to a toolset.
package plugincmd
