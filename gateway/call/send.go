package call

import (
	"time"

	"github.com/sluicegate/sluice/gateway/cache"
	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/cdnloop"
)

// send makes the exchange with the upstream, unless the cache had the answer.
// Every status is an answer here; compress says what it means. What was received
// is returned with an error too.
func (x *exchange) send(kept *cache.Entry) (r received, err error) {
	if kept != nil {
		x.out.Status, x.out.Bytes, x.out.Cached = kept.Status, len(kept.Body), true
		return received{status: kept.Status, contentType: kept.ContentType, body: kept.Body, headers: kept.Headers, header: kept, unfinished: kept.Unfinished}, nil
	}
	if r, err = x.ask(); err != nil {
		return r, err
	}
	if x.renew(r.status) {
		x.http.ResetAnswer()
		if r, err = x.ask(); err != nil {
			return r, err
		}
	}
	if x.mustLogin != nil {
		return r, x.mustLogin
	}
	if err := x.stepUp(r.challenge()); err != nil {
		return r, err
	}
	if r.body, err = media.UTF8(&x.decoded, r.contentType, r.body, x.maxBody); err != nil {
		return r, err
	}
	r.contentType, r.body = media.Bare(r.contentType, r.body)
	// Some APIs repeat what they were sent.
	r.body, r.headers = x.bound.Redact(r.body), x.bound.Redact(x.tellHeaders(&r))
	x.remember(&r)
	return r, nil
}

// ask sends the request as it is and reads the answer.
func (x *exchange) ask() (received, error) {
	b := x.tool.Binding
	b.Meter.Begin()
	x.asked = true
	span := x.spanHTTP()
	begin := time.Now()
	err := x.c.upstream.Do(&x.http, &x.ready.Base, upstream.Limits{
		Deadline: x.deadline, MaxBody: x.maxBody, Client: x.clientCertificate(), Cancel: x.cancel, Scope: x.c.scope(x.ts.ID), Loop: cdnloop.Sent(x.ctx),
	}, x.stripCredentials())
	took := time.Since(begin)
	x.upstream += took
	if err != nil {
		span.EndExchange(0, faultWord(err))
		b.Meter.Exchange(0, took.Seconds())
		return received{}, err
	}
	r := received{status: x.http.Status(), contentType: x.http.Header("Content-Type"), body: x.http.Body(), header: &x.http, unfinished: x.http.GoesOn}
	x.out.Status, x.out.Bytes = r.status, len(r.body)
	cdnloop.Answered(x.ctx, r.status)
	span.EndExchange(r.status, "")
	b.Meter.Exchange(r.status, took.Seconds())
	return r, nil
}
