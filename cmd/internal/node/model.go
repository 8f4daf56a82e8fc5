package node

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/sluicegate/sluice/admin/toolset/suggest"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Model is the model that the admin API may ask, behind an OpenAI-compatible API.
type Model struct {
	URL, Name string
	Key       secrets.Secret
}

// open makes the model; nil when none was named. Its dialer is its own: what the
// operator names here may be on a private address, and no toolset can reach it by that.
func (m Model) open(logger *slog.Logger) (*suggest.Model, error) {
	if m.URL == "" {
		return nil, nil //nolint:nilnil // off
	}
	d, err := safedial.New(safedial.Options{AllowPrivate: true}) // it dials that URL and no other: redirects are not followed
	if err != nil {
		return nil, err
	}
	return suggest.New(suggest.Options{
		URL: m.URL, Model: m.Name, Key: m.Key, Logger: logger,
		HTTP: &http.Client{
			Transport: &http.Transport{DialContext: d.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: suggest.MaxConcurrent, IdleConnTimeout: time.Minute},
			// A redirect would carry the key and the specification elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	})
}
