package call

import (
	"time"

	"github.com/sluicegate/sluice/gateway/upstream"
)

// send makes the exchange with the upstream, unless the cache had the answer.
// Every status is an answer here; compress says what it means.
func (x *exchange) send() error {
	if x.ready.MCP != nil {
		return x.sendMCP()
	}
	if x.hit != nil {
		x.status, x.contentType, x.body = x.hit.status, x.hit.contentType, x.hit.body
		x.out.Status, x.out.Bytes, x.out.Cached = x.status, len(x.body), true
		return nil
	}
	if err := x.ask(); err != nil {
		return err
	}
	if x.renew() {
		x.http.ResetAnswer()
		if err := x.ask(); err != nil {
			return err
		}
	}
	if x.mustLogin != nil {
		return x.mustLogin
	}
	if err := x.stepUp(x.challenge()); err != nil {
		return err
	}
	if err := x.decodeCharset(); err != nil {
		return err
	}
	x.noteHeaders()
	for i := range x.creds { // some APIs repeat what they were sent
		x.body = x.rules[i].Redact(x.body, x.creds[i])
		x.headers = x.rules[i].Redact(x.headers, x.creds[i])
	}
	x.remember()
	return nil
}

// ask sends the request as it is and reads the answer.
func (x *exchange) ask() error {
	b := x.tool.Binding
	b.Meter.Begin()
	x.asked = true
	begin := time.Now()
	err := x.c.upstream.Do(&x.http, &x.ready.Base,
		upstream.Limits{Deadline: x.deadline, MaxBody: x.ts.MaxBody, Client: x.client(), Cancel: x.cancel, Scope: x.c.scope(x.ts.ID)}, x.stripper())
	took := time.Since(begin)
	x.upstream += took
	if err != nil {
		b.Meter.Exchange(0, took.Seconds())
		return err
	}
	x.status, x.contentType, x.body = x.http.Status(), x.http.Header("Content-Type"), x.http.Body()
	x.goesOn = x.http.GoesOn
	x.out.Status, x.out.Bytes = x.status, len(x.body)
	b.Meter.Exchange(x.status, took.Seconds())
	return nil
}
