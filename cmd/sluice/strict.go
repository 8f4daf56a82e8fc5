package main

import (
	"net"

	"github.com/sluicegate/sluice/internal/http1"
)

const (
	// adminHeadBytes is the longest header block of the admin API: tokens, and what
	// proxies and browsers add.
	adminHeadBytes = 64 << 10
	// opsHeadBytes is that of the operations listener, which takes no credentials.
	opsHeadBytes = 16 << 10
	// httpStrangers are connections of one address that have asked for nothing yet.
	httpStrangers = 512
)

// strict is a listener whose requests net/http gets only when they can be read in one
// way, and whose connections are bounded.
func strict(ln net.Listener, headBytes int) *http1.Listener {
	most := http1.DefaultConns() / 2 // the gateway's own come first
	return http1.Listen(ln, http1.Options{
		HeadBytes: headBytes, Bodies: true, Conns: most, ConnsPerAddress: max(1, most*3/4), Strangers: httpStrangers,
	})
}
