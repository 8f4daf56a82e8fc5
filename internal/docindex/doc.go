// Package docindex has no code: its tests check that the links of the documentation lead
// somewhere, that each page can be found, that docs/llms.txt (llmstxt.org) lists them,
// that docs/packages.md has every package of the tree, and that the tests that the threat
// model names are there.
package docindex
