// Package fleetcmd has the commands for edges, releases, and the calls that nodes report,
// as numbers (usage) and one by one (logs).
package fleetcmd
