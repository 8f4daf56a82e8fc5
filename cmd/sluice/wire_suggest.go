package main

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/sluicegate/sluice/admin/suggest"
	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

// modelOptions name the model that the admin API may ask.
type modelOptions struct {
	url, model string
	key        secrets.Secret
}

// suggester reads where the model is: flags win over the configuration file, all
// three or none, so that a key never goes to another endpoint than it was given for.
func (a *app) suggester(f config.Suggest) (modelOptions, error) {
	if f == (config.Suggest{}) {
		f = a.Config.Suggest
	}
	switch {
	case f == (config.Suggest{}):
		return modelOptions{}, nil
	case f.URL == "" || f.Model == "":
		return modelOptions{}, exit.Usagef("--suggest-url and --suggest-model belong together")
	}
	o := modelOptions{url: f.URL, model: f.Model}
	var err error
	if f.KeyFile != "" {
		o.key, err = a.ReadSecretFile(f.KeyFile)
	}
	return o, err
}

// open makes the model; nil when none was named. Its dialer is its own: what the
// operator names here may be on a private address, and no toolset can reach it by that.
func (o modelOptions) open(logger *slog.Logger) (*suggest.Model, error) {
	if o.url == "" {
		return nil, nil //nolint:nilnil // off
	}
	d, err := safedial.New(safedial.Options{AllowPrivate: true}) // it dials that URL and no other: redirects are not followed
	if err != nil {
		return nil, err
	}
	return suggest.New(suggest.Options{
		URL: o.url, Model: o.model, Key: o.key, Logger: logger,
		HTTP: &http.Client{
			Transport: &http.Transport{DialContext: d.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: suggest.MaxConcurrent, IdleConnTimeout: time.Minute},
			// A redirect would carry the key and the specification elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	})
}
