package main

import (
	"net/netip"
	"strings"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/internal/tlsfiles"
)

// nodeFlags configure a node.
type nodeFlags struct {
	listen, adminListen string
	tls, adminTLS       tlsfiles.Files
	proxies             []string
	publicURL           string
	adminPublicURL      string
	allowPrivate        []string
	logFormat, logLevel string
	shutdown            time.Duration
	conns, connsPerAddr int
	suggest             config.Suggest
	commands            bool
	noPage              bool
	state               string
	catalogs            []string
	catalogKeys         []string
	domains             domainFlags
	openID              config.OpenID
	openIDRoles         []string
	requests            node.RequestsOptions
}

// everything is the value of --allow-private-upstreams without networks.
const everything = "all"

// isNetworks reports whether an argument is a value of --allow-private-upstreams.
func isNetworks(arg string) bool {
	first, _, _ := strings.Cut(arg, ",")
	_, err := netip.ParsePrefix(first)
	return arg == everything || err == nil
}
