//go:build !race

package openapi

const raceFactor = 1
