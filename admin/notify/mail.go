package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"html"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// sendMail sends a message to the addresses of a channel.
func (r *Room) sendMail(ctx context.Context, m *message) outcome {
	s := m.set.Mail
	if s == nil {
		return outcome{fault: "the channel has no mail server"}
	}
	messages, fault := r.letters(ctx, m)
	if fault != "" || len(messages) == 0 {
		return outcome{fault: fault}
	}
	return r.hand(ctx, s, m.sec.Password, messages)
}

// hand gives mails to the mail server of a channel.
func (r *Room) hand(ctx context.Context, s *Mail, password secrets.Wire, messages []*mail.Msg) outcome {
	dial := r.dialer.DialContext
	trust := &tls.Config{ServerName: s.Host, RootCAs: r.roots, MinVersion: tls.VersionTLS12}
	options := []mail.Option{mail.WithTimeout(sendTimeout), mail.WithTLSConfig(trust)}
	port := s.Port
	switch s.Security {
	case "tls":
		dial, options = r.dialTLS(trust), append(options, mail.WithTLSPolicy(mail.NoTLS)) // it is TLS from the first byte
		if port == 0 {
			port = mail.DefaultPortSSL
		}
	case "none":
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if port == 0 {
		port = mail.DefaultPortTLS
	}
	options = append(options, mail.WithPort(port), mail.WithDialContextFunc(dial))
	if s.Username != "" {
		how := mail.SMTPAuthAutoDiscover
		if s.Security == "tls" {
			how = mail.SMTPAuthPlain // what is found out by itself does not see the TLS of a dialer of our own
		}
		options = append(options, mail.WithSMTPAuth(how), mail.WithUsername(s.Username), mail.WithPassword(password.Reveal()))
	}
	c, err := mail.NewClient(s.Host, options...)
	if err != nil {
		return outcome{fault: "the mail server's settings are not valid"}
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := c.DialAndSendWithContext(ctx, messages...); err != nil {
		if ctx.Err() != nil {
			return outcome{fault: "the mail server did not answer in " + sendTimeout.String()}
		}
		return outcome{fault: "the mail server did not take the message: " + cut(strings.ReplaceAll(err.Error(), "\n", " "), faultBytes/2)}
	}
	return outcome{}
}

// letters are the mails of a message: one to all addresses, or of a reminder one to each, so
// that each has a link of its own. fault: why there are none.
func (r *Room) letters(ctx context.Context, m *message) (out []*mail.Msg, fault string) {
	s := m.set.Mail
	if who := m.doc.Recipient; who != "" {
		to, err := r.addressOfPerson(ctx, who, m.row.WorkspaceID)
		switch {
		case problem.Is(err, problem.NotFound):
			return nil, "" // who is gone is told nothing
		case err != nil:
			return nil, "the recipient's address cannot be read"
		}
		msg, fault := letter(m, m.id, []string{to}, "")
		return []*mail.Msg{msg}, fault
	}
	if !m.doc.Reminder {
		msg, fault := letter(m, m.id, s.To, "")
		return []*mail.Msg{msg}, fault
	}
	for i, to := range s.To {
		of, address, link := *m, addressOf(to), ""
		if slices.Contains(m.set.Unsubscribed, address) {
			if of.doc = m.doc.withoutReminders(); of.doc == nil {
				continue
			}
		} else {
			var err error
			if link, err = r.link(subscription{m.row.WorkspaceID, m.row.ID, address}); err != nil {
				return nil, "the link to unsubscribe cannot be made"
			}
		}
		id := m.id
		if len(s.To) > 1 {
			id += "." + strconv.Itoa(i)
		}
		msg, fault := letter(&of, id, []string{to}, link)
		if fault != "" {
			return nil, fault
		}
		out = append(out, msg)
	}
	return out, ""
}

// letter is one mail. link is where its recipient unsubscribes; "": nowhere.
func letter(m *message, id string, to []string, link string) (msg *mail.Msg, fault string) {
	msg = mail.NewMsg()
	if err := msg.From(m.set.Mail.From); err != nil {
		return nil, "the sender's address is not valid"
	}
	if err := msg.To(to...); err != nil {
		return nil, "an address of the channel is not valid"
	}
	_, domain, _ := strings.Cut(m.set.Mail.From, "@")
	msg.SetMessageIDWithValue(id + "@" + strings.Trim(domain, "> ")) // the same in every attempt: clients drop repeats
	msg.SetDateWithValue(m.now)
	msg.Subject(cut(m.head(), 200))
	if link != "" {
		msg.SetGenHeaderPreformatted("List-Unsubscribe", "<"+link+">") // a folded URL is read by few
		msg.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
	text, page := mailText(m, link)
	msg.SetBodyString(mail.TypeTextPlain, text)
	msg.AddAlternativeString(mail.TypeTextHTML, page)
	return msg, ""
}

// dialTLS dials a mail server that speaks TLS from the first byte.
func (r *Room) dialTLS(trust *tls.Config) mail.DialContextFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := r.dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := tls.Client(raw, trust)
		if err := c.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, raw.Close())
		}
		return c, nil
	}
}

// mailText is a message as text and as HTML. link is where its recipient unsubscribes from
// reminders; "": nowhere.
func mailText(m *message, link string) (text, page string) {
	var t, h strings.Builder
	t.WriteString(m.doc.Title + "\r\n\r\n")
	h.WriteString(`<!doctype html><html><body style="font-family:sans-serif"><h2 style="font-size:1.1em">` + html.EscapeString(m.doc.Title) + `</h2><table>`)
	for _, l := range m.doc.Lines {
		t.WriteString(l.Name + ": " + l.Value + "\r\n")
		h.WriteString(`<tr><td style="color:#555;padding-right:1em;vertical-align:top">` + html.EscapeString(l.Name) + `</td><td>` + html.EscapeString(l.Value) + `</td></tr>`)
	}
	h.WriteString(`</table>`)
	if m.doc.Remedy != "" {
		t.WriteString("\r\nRemedy: " + m.doc.Remedy + "\r\n")
		h.WriteString(`<p>Remedy: ` + html.EscapeString(m.doc.Remedy) + `</p>`)
	}
	if m.doc.Command != "" {
		t.WriteString("\r\n    " + m.doc.Command + "\r\n")
		h.WriteString(`<pre>` + html.EscapeString(m.doc.Command) + `</pre>`)
	}
	if m.doc.Link != "" {
		t.WriteString("\r\n" + m.doc.Link + "\r\n")
		h.WriteString(`<p><a href="` + html.EscapeString(m.doc.Link) + `">` + html.EscapeString(m.doc.Link) + `</a></p>`)
	}
	if link != "" {
		t.WriteString("\r\nNo reminders any more: " + link + "\r\n")
		h.WriteString(`<p style="color:#555;font-size:.9em"><a href="` + html.EscapeString(link) + `">No reminders any more</a></p>`)
	}
	h.WriteString(`</body></html>`)
	return t.String(), h.String()
}
