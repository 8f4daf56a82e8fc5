package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// probeTimeout is how long the vulnerability data may take to answer before it counts
// as out of reach: a check of every change must not hang behind a firewall.
const probeTimeout = 10 * time.Second

// scan is a run of govulncheck.
type scan struct {
	DB      string // address of the vulnerability data
	Tool    string // path of govulncheck
	Install string // module and version to install Tool from when it is not there; "": never
	Package string
}

// run looks for known vulnerabilities that the package can reach. Where the
// vulnerability data cannot be reached it says so and succeeds; it fails when it ran and
// found something, and when it could not run for any other reason.
func (s *scan) run(ctx context.Context, stdout io.Writer) error {
	if err := s.probe(ctx); err != nil {
		fmt.Fprintf(stdout, "govulncheck: not run (vulnerability data cannot be reached): %v\n", err)
		return nil
	}
	if _, err := os.Stat(s.Tool); err != nil && s.Install != "" {
		dir, err := filepath.Abs(filepath.Dir(s.Tool))
		if err != nil {
			return err
		}
		if _, err := goCommand(ctx, []string{"GOBIN=" + dir}, "install", s.Install); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, s.Tool, "-db", s.DB, s.Package) //nolint:gosec // of the Makefile
	cmd.Stdout, cmd.Stderr = stdout, stdout
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 3 {
		return fmt.Errorf("%s can reach known vulnerabilities, see above", s.Package)
	}
	if err != nil {
		return fmt.Errorf("govulncheck: %w", err)
	}
	return nil
}

// probe asks when the data was changed (the index of https://go.dev/doc/security/vuln/database).
func (s *scan) probe(ctx context.Context) error {
	u, err := url.Parse(s.DB)
	if err != nil {
		return err
	}
	if u.Scheme == "file" {
		_, err := os.Stat(filepath.Join(u.Path, "index", "db.json"))
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.DB+"/index/db.json", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", s.DB, resp.Status)
	}
	return nil
}
