// Package docindex has no code: its tests check that the links of the documentation lead
// somewhere, that each page can be found, and that docs/llms.txt (llmstxt.org) lists them.
package docindex
