package http1

import (
	"errors"
	"io/fs"
	"net"
	"syscall"

	"github.com/sluicegate/sluice/internal/problem"
)

// CannotListen is the error of a listener that got no port, with the reason and what to do.
// what names the listener, and flag is where its address comes from.
func CannotListen(what, addr, flag string, err error) *problem.Error {
	here := "give an address of this machine with " + flag
	why, fix := "", "stop what uses the port, or choose another with "+flag
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		why = ": the port is in use"
	case errors.Is(err, fs.ErrPermission):
		why = ": this user may not use the port"
		fix = "choose a port above 1023 with " + flag + ", or give the process the capability CAP_NET_BIND_SERVICE (docs/operate/install.md says how a unit gets it)"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		why, fix = ": this machine has no such address", here
	case errors.As(err, new(*net.DNSError)):
		why, fix = ": there is no such name", here
	case errors.As(err, new(*net.AddrError)), errors.As(err, new(net.UnknownNetworkError)):
		why, fix = ": it is not an address", here
	}
	return problem.New(problem.Unavailable, "%s cannot listen on %.200s%s", what, addr, why).Fix("%s", fix).Because(err)
}
