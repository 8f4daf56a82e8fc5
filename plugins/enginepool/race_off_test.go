//go:build !race

package enginepool

const rounds = 1
