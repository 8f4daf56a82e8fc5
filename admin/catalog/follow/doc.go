// Package follow reads catalogs that others publish as signed artifacts of an OCI
// registry, looks for newer ones from time to time, and keeps the last good one of each
// for the time when the registry is away. What the entries mean is package catalog's.
package follow
