package node

import (
	"net/http"
	"time"

	"github.com/sluicegate/sluice/internal/safedial"
)

// openIDClient asks the OpenID provider at which members sign in. The operator named it, so it
// may be on a private address, as those of companies are, and no toolset can reach it by that.
func openIDClient() (*http.Client, error) {
	d, err := safedial.New(safedial.Options{AllowPrivate: true})
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport: &http.Transport{DialContext: d.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: 4, IdleConnTimeout: time.Minute},
		Timeout:   20 * time.Second,
		// A redirect would carry the code and the secret of the client elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}
