package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// sendTimeout of one attempt (Standard Webhooks asks for 15 to 30 s).
	sendTimeout = 20 * time.Second
	// maxAnswer is how much of an answer is read, so that its connection can be kept.
	maxAnswer = 16 << 10
)

// webhookBody is the body of a webhook (Standard Webhooks, "Payload structure").
type webhookBody struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"` // when it happened
	Title     string          `json:"title"`
	Severity  string          `json:"severity"`
	Data      json.RawMessage `json:"data"`
}

func bodyOf(m *message) webhookBody {
	data := m.doc.Data
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	return webhookBody{m.ev.Type, m.ev.At.Time, m.doc.Title, m.ev.Severity, data}
}

// message is one attempt to deliver an event to a channel.
type message struct {
	id  string
	ev  *store.Event
	doc *document
	row *store.Channel
	set *Settings
	sec *private
	now time.Time
}

// outcome of an attempt.
type outcome struct {
	status int           // of HTTP; 0: there was no answer
	fault  string        // empty: it was taken
	after  time.Duration // that the receiver asks to wait at least
	gone   bool          // the receiver wants no more, ever
}

// sendWebhook posts a message signed as Standard Webhooks says.
func (r *Room) sendWebhook(ctx context.Context, m *message) outcome {
	body, err := json.Marshal(bodyOf(m))
	if err != nil {
		return outcome{fault: "the message cannot be encoded"}
	}
	signatures := []string{}
	for _, k := range m.sec.Keys {
		if !k.Until.IsZero() && m.now.After(k.Until) {
			continue
		}
		w, err := standardwebhooks.NewWebhook(k.Secret.Reveal())
		if err != nil {
			return outcome{fault: "the signing secret cannot be read"}
		}
		s, err := w.Sign(m.id, m.now, body)
		if err != nil {
			return outcome{fault: "the message cannot be signed"}
		}
		signatures = append(signatures, s)
	}
	header := http.Header{}
	header.Set(standardwebhooks.HeaderWebhookID, m.id)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(m.now.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return r.post(ctx, m, body, header)
}

// sendSlack posts a message as an incoming webhook of Slack takes it.
func (r *Room) sendSlack(ctx context.Context, m *message) outcome {
	body, err := json.Marshal(slackBody(m))
	if err != nil {
		return outcome{fault: "the message cannot be encoded"}
	}
	return r.post(ctx, m, body, http.Header{})
}

// post posts a body to the URL of a channel.
func (r *Room) post(ctx context.Context, m *message, body []byte, header http.Header) outcome {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.sec.URL.Reveal(), bytes.NewReader(body))
	if err != nil {
		return outcome{fault: "the address of the channel is not a URL"}
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "sluice")
	res, err := r.client.Do(req) //nolint:gosec // connections are made by the guarded dialer
	if err != nil {
		return outcome{fault: saidOf(err)}
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer)) // what it says does not matter
	o := outcome{status: res.StatusCode}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return o
	}
	o.fault = fmt.Sprintf("the receiver answered %d", res.StatusCode)
	o.gone = res.StatusCode == http.StatusGone
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
		o.after = min(time.Duration(s)*time.Second, 24*time.Hour)
	}
	return o
}

// saidOf is what is kept of an error: never the URL, which may be a secret.
func saidOf(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the receiver did not answer in " + sendTimeout.String()
	case errors.Is(err, context.Canceled):
		return "the control plane stopped meanwhile"
	}
	if p := problem.As(err); p != nil {
		return p.Detail
	}
	return "the receiver " + unreached(err)
}

// unreached is why a receiver could not be reached, as far as that is known.
func unreached(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "has a certificate that is not for its host name"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "has a certificate of an authority that is not trusted here (SLUICE_CA)"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if invalid.Reason == x509.Expired {
			return "has a certificate that has expired, or is not valid yet"
		}
		return "has a certificate that is not valid"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "does not speak TLS"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "has a name that does not resolve"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "does not accept connections"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "closed the connection without an answer"
	}
	return "cannot be reached"
}
