// Package alertcmd has the commands for what is wrong (alert) and for who is notified
// (notify).
package alertcmd
