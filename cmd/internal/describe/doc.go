// Package describe writes objects of the admin API as lines of text, where commands of
// several packages print the same ones. It does not talk to the node.
package describe
