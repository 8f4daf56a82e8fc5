package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/diskfault"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
)

// Results of a check.
const (
	checkOK   = "ok"
	checkWarn = "warn"
	checkFail = "fail"
)

// finding is the result of one check of the doctor.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// get reads a small text.
func get(ctx context.Context, hc *http.Client, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", fmt.Errorf("asking %s: %w", safehttp.Redact(url), err)
	}
	resp, err := hc.Do(req)
	if err != nil {
		if p := exit.AsUnreachable(err); p != nil {
			return 0, "", p
		}
		return 0, "", fmt.Errorf("asking %s: %w", safehttp.Redact(url), err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return 0, "", fmt.Errorf("asking %s: %w", safehttp.Redact(url), err)
	}
	return resp.StatusCode, string(b), nil
}

// doctor collects findings.
type doctor struct {
	*app
	findings []finding
}

func (d *doctor) ok(check, format string, args ...any) {
	d.findings = append(d.findings, finding{Check: check, Result: checkOK, Detail: fmt.Sprintf(format, args...)})
}

func (d *doctor) warn(check, detail, remedy string) {
	d.findings = append(d.findings, finding{Check: check, Result: checkWarn, Detail: detail, Remedy: remedy})
}

func (d *doctor) fail(check, detail, remedy string) {
	d.findings = append(d.findings, finding{Check: check, Result: checkFail, Detail: detail, Remedy: remedy})
}

func (d *doctor) failErr(check string, err error) {
	p := problem.As(err)
	if p == nil {
		p = exit.AsUnreachable(err)
	}
	if p == nil {
		p = diskfault.Of(err)
	}
	if p == nil {
		d.fail(check, err.Error(), "")
		return
	}
	detail := p.Detail
	if at := p.Place.String(); at != "" {
		detail = at + ": " + detail
	}
	d.fail(check, detail, p.Remedy)
}

// report prints the findings and fails when one of them does.
func (d *doctor) report() error {
	bad := false
	for _, f := range d.findings {
		bad = bad || f.Result == checkFail
	}
	var err error
	if d.Format == "table" || d.Format == "wide" {
		err = d.WriteResult([]byte(d.text()))
	} else {
		err = terminal.List(&d.Terminal, d.findings, nil, []terminal.Column[finding]{}, func(f finding) string { return f.Check })
	}
	if err != nil {
		return err
	}
	if bad {
		return exit.SilentError(exit.Failed)
	}
	return nil
}

func (d *doctor) text() string {
	marks := map[string]string{checkOK: "✓", checkWarn: "!", checkFail: "✗"}
	var b strings.Builder
	for _, f := range d.findings {
		fmt.Fprintf(&b, "%s %s: %s\n", marks[f.Result], f.Check, terminal.Printable(f.Detail))
		if f.Remedy != "" {
			fmt.Fprintf(&b, "    %s\n", terminal.Printable(f.Remedy))
		}
	}
	return b.String()
}
