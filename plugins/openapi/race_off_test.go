//go:build !race

package openapi

const raceFactor = 1

// childTimeout is the limit of a compilation in a child process.
const childTimeout = DefaultTimeout
