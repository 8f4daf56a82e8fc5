// Package requestcmd has the commands for requests for connectors (request).
package requestcmd
