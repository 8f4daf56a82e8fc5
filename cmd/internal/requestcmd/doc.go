// Package requestcmd has the commands for connectors that people ask for (request).
package requestcmd
