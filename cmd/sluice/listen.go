package main

import (
	"net"
	"strconv"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// checkListen refuses an address that no listener can have, before anything is made.
func checkListen(flag, at string) error {
	if at == "" {
		return nil // the default
	}
	_, port, err := net.SplitHostPort(at)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return exit.Usagef("--%s %s is not an address such as 127.0.0.1:7300 or :7300", flag, terminal.Printable(at))
	}
	return nil
}
