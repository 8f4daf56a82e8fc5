// Package alertcmd has the commands for what is wrong (alert) and for who is told of it
// (notify).
package alertcmd
