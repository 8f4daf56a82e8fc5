// Package previewcmd has the commands that work on answers and specifications without a
// node: preview, decode, projection and eval. What they measure is in package answers.
package previewcmd
