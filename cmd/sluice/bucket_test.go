package main

import (
	"io"
	"log" //nolint:depguard // the registry of go-containerregistry wants one
	"net/http"
	"net/http/httptest"
	"strings"

	ggcr "github.com/google/go-containerregistry/pkg/registry"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/rogpeppe/go-internal/testscript"
)

// bucket starts an S3-compatible store that lives as long as the script.
func (s *scripts) bucket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: bucket VAR")
	}
	backend := s3mem.New()
	ts.Check(backend.CreateBucket("artifacts"))
	srv := httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
}

// registry starts somebody else's OCI registry that lives as long as the script.
func (s *scripts) registry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: registry VAR")
	}
	h := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "pass" {
			w.Header().Set("WWW-Authenticate", "Basic realm=test")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	ts.Defer(srv.Close)
	ts.Setenv(args[0], strings.TrimPrefix(srv.URL, "http://"))
}
