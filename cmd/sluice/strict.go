package main

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/sluicegate/sluice/internal/http1"
)

const (
	// adminHeadBytes is the longest header block of the admin API: tokens, and what
	// proxies and browsers add.
	adminHeadBytes = 64 << 10
	// opsHeadBytes is that of the operations listener, which takes no credentials.
	opsHeadBytes = 16 << 10
	// handshakeTime is how long a TLS handshake may take: three round trips of a slow
	// network.
	handshakeTime = 10 * time.Second
	// httpStrangers are connections of one address that have asked for nothing yet.
	httpStrangers = 512
)

// strict is a listener whose requests net/http gets only when they can be read in one
// way, and whose connections are bounded. With a certificate they speak TLS.
func strict(ln net.Listener, headBytes int, certificate *tls.Certificate) *http1.Listener {
	most := http1.DefaultConns() / 2 // the gateway's own come first
	var secure *tls.Config
	if certificate != nil {
		secure = &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
	}
	return http1.Listen(ln, http1.Options{
		HeadBytes: headBytes, HeadTime: handshakeTime, TLS: secure, Bodies: true, Conns: most, ConnsPerAddress: max(1, most*3/4), Strangers: httpStrangers,
	})
}
