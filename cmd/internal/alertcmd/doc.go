// Package alertcmd has the commands for alerts (alert) and for notifications (notify).
package alertcmd
