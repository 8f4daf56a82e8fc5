// Package systemd reports the state of a node to a service manager: the datagrams of
// sd_notify(3). It asks the manager for nothing, and does nothing where there is none.
package systemd

import (
	"fmt"
	"net"
	"strings"
)

// States of a service; see sd_notify(3).
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

// Status is the state that "systemctl status" shows as a line of text.
func Status(text string) string {
	return "STATUS=" + strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, text)
}

// Notify sends states to the socket of the variable NOTIFY_SOCKET: a path, or a name in
// the abstract namespace after an @. With "" it does nothing.
func Notify(socket string, states ...string) error {
	if socket == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("reaching the service manager: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(strings.Join(states, "\n"))); err != nil {
		return fmt.Errorf("telling the service manager: %w", err)
	}
	return nil
}
