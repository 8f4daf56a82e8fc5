// Package view renders toolsets, their connectors and revisions as the API shows them and
// the command line prints them. It decides nothing and writes nothing.
package view
