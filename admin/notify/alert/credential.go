package alert

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// KindAuthFailed says that an upstream refuses the credential of a toolset.
const KindAuthFailed = "upstream.auth_failed"

const (
	// maxRefused calls of a workspace are looked at in a round; the rest in the next.
	maxRefused = 2000
	// refusedAge is how old a refused call may be to be reported: one of an outage that is
	// over is history.
	refusedAge = 15 * time.Minute
	// forbiddenWindow, forbiddenCalls: a 403 may be about one resource. It is the
	// credential that is refused when in the window nothing else was answered to this
	// many calls, of two tools if there are two.
	forbiddenWindow = 10 * time.Minute
	forbiddenCalls  = 5
)

// holder is a connector of a toolset, which has the credential.
type holder struct{ toolset, connector string }

func (h holder) key() string { return KindAuthFailed + "/" + h.toolset + "/" + h.connector }

// credentials looks at calls whose credential was refused since the last round.
func (r *Room) credentials(ctx context.Context, ws *store.Workspace, have open) (*finding, error) {
	position, err := ws.AlertCursor(ctx, KindAuthFailed)
	if err != nil {
		return nil, err
	}
	seq, _ := strconv.ParseUint(position, 10, 64) // "" is the beginning
	calls, last, err := ws.CallsRefused(ctx, seq, maxRefused)
	if err != nil {
		return nil, err
	}
	f := &finding{covers: only(KindAuthFailed)}
	if last != seq {
		f.commit = func(ctx context.Context, tx *store.Tx) error {
			return tx.SetAlertCursor(ctx, KindAuthFailed, strconv.FormatUint(last, 10))
		}
	}
	refused := map[holder][]store.Call{}
	var order []holder
	for i := range calls {
		c := &calls[i]
		h := holder{c.ToolsetID, c.Connector}
		if ws.Now().Sub(c.At.Time) > refusedAge {
			continue
		}
		if refused[h] == nil {
			order = append(order, h)
		}
		refused[h] = append(refused[h], *c)
	}
	for key, row := range have {
		if row.Kind != KindAuthFailed {
			continue
		}
		_, connector, _ := strings.Cut(strings.TrimPrefix(key, KindAuthFailed+"/"), "/")
		if h := (holder{row.ToolsetID, connector}); refused[h] == nil {
			order = append(order, h)
		}
	}
	for _, h := range order {
		c, err := r.refusedCredential(ctx, ws, h, have[h.key()], refused[h])
		if err != nil {
			return nil, err
		}
		if c != nil {
			f.conditions = append(f.conditions, *c)
		}
	}
	if !f.concerns(have) {
		return nil, nil //nolint:nilnil // nil: nothing to write
	}
	return f, nil
}

// refusedCredential is what is wrong with the credential of a connector; nil: nothing. row
// is its alert, nil when there is none, and calls are those that were refused since.
func (r *Room) refusedCredential(ctx context.Context, ws *store.Workspace, h holder, row *store.Alert, calls []store.Call) (*condition, error) {
	ts, err := ws.Toolset(ctx, h.toolset)
	if problem.Is(err, problem.NotFound) {
		return nil, nil //nolint:nilnil // it was deleted
	}
	if err != nil {
		return nil, err
	}
	creds, err := ws.CredentialsOf(ctx, h.toolset, h.connector)
	if err != nil {
		return nil, err
	}
	var d Details
	if row != nil {
		if d, err = detailsOf(row); err != nil {
			return nil, err
		}
	}
	before := d.Calls
	for i := range calls {
		c := &calls[i]
		// A call that began with the key before this one says nothing of it.
		if before == 0 && beganBefore(c, creds) || ownLogin(creds) {
			continue
		}
		if c.Status == 403 && d.Status != 401 {
			if plain, err := r.forbidden(ctx, ws, ts, h); err != nil || !plain {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		d.Status = c.Status
		if d.FirstCall == "" {
			d.FirstCall, d.FirstAt = c.ID(), c.At.Time
		}
		if !c.At.Before(d.LastAt) {
			d.LastCall, d.LastAt = c.ID(), c.At.Time
		}
		d.Calls++
	}
	if d.Calls == 0 {
		return nil, nil //nolint:nilnil // nothing is wrong
	}
	accepted, err := ws.LastAccepted(ctx, h.toolset, h.connector, d.LastAt)
	if err != nil || accepted != nil {
		return nil, err
	}
	if d.Calls != before {
		calls, callers, tools, err := ws.RefusedCalls(ctx, h.toolset, h.connector, d.Status, d.FirstAt)
		if err != nil {
			return nil, err
		}
		if calls >= before { // else the oldest are not in the log any more
			d.Calls = calls
		}
		d.Callers, d.Tools = max(d.Callers, callers), tools
	}
	if d.Preceded == nil {
		if d.Preceded, err = preceding(ctx, ws, d.FirstAt, h.toolset); err != nil {
			return nil, err
		}
	}
	d.Toolset, d.Connector, d.Sent = ts.Slug, h.connector, sent(creds)
	if d.Upstream, err = upstreamOf(ctx, ws, ts, h.connector, creds); err != nil {
		return nil, err
	}
	name := d.Upstream
	if name == "" {
		name = "the API of " + h.connector
	}
	d.Cause = fmt.Sprintf("%s answered %d to calls that carried the credential of the toolset", name, d.Status)
	d.Remedy = "replace the key, or look at the name and the prefix it is sent with"
	d.Command = "sluice toolset auth " + ts.Slug + " rotate --api-key-file FILE"
	if len(creds) > 0 && oauthType(creds[0].AuthType) {
		d.Remedy, d.Command = renewal(&creds[0], ts.Slug)
	} else if len(creds) > 0 && credentialShapeOf(&creds[0]).Certificate != nil {
		d.Remedy, d.Command = "replace the client certificate", certificateCommand(ts.Slug)
	}
	d.Command += other(ts, h.connector)
	return &condition{
		key: h.key(), kind: KindAuthFailed, severity: notify.Critical, toolset: h.toolset, since: d.FirstAt,
		title: fmt.Sprintf("%s refuses the credential of toolset %s", name, ts.Slug), details: d,
	}, nil
}

// renewal is what restores a credential whose authorization server gives no token that is taken.
func renewal(cred *store.Credential, toolset string) (remedy, command string) {
	if credentialShapeOf(cred).Grant == "client_credentials" { // nobody logs in
		return "replace the client secret, or look at the client and its scopes at the authorization server", "sluice toolset auth " + toolset + " rotate --api-key-file FILE"
	}
	return "log in again, or look at the client and its scopes", "sluice toolset auth " + toolset + " login"
}

// certificateCommand sets a client certificate.
func certificateCommand(toolset string) string {
	return "sluice toolset auth " + toolset + " set --auth mtls --client-cert FILE --client-key FILE"
}

// other names the connector in a command, when it is not the first of the toolset.
func other(ts *store.Toolset, connector string) string {
	if connector == "" || connector == ts.ConnectorName {
		return ""
	}
	return " --connector " + connector
}

// forbidden reports whether a connector was answered with nothing but 403 lately.
func (r *Room) forbidden(ctx context.Context, ws *store.Workspace, ts *store.Toolset, h holder) (bool, error) {
	since := ws.Now().Add(-forbiddenWindow)
	calls, _, tools, err := ws.RefusedCalls(ctx, h.toolset, h.connector, 403, since)
	if err != nil || calls < forbiddenCalls || len(tools) < 2 && ts.EnabledTools > 1 {
		return false, err
	}
	accepted, err := ws.LastAccepted(ctx, h.toolset, h.connector, since)
	return accepted == nil, err
}

// beganBefore reports whether a call began before its credential was last changed.
func beganBefore(c *store.Call, creds []store.Credential) bool {
	for i := range creds {
		if c.At.Before(creds[i].RotatedAt.Time) {
			return true
		}
	}
	return false
}

// credentialShape is what is read of [store.Credential].Shape.
type credentialShape struct {
	HeaderName    string `json:"headerName"`
	HeaderPrefix  string `json:"headerPrefix"`
	ParameterName string `json:"parameterName"`
	CookieName    string `json:"cookieName"`
	MemberName    string `json:"memberName"`
	Grant         string `json:"grant"`
	PerUser       bool   `json:"perUser"`
	Certificate   *struct {
		Subject  string    `json:"subject"`
		NotAfter time.Time `json:"notAfter"`
	} `json:"certificate"`
}

func credentialShapeOf(row *store.Credential) (sh credentialShape) {
	_ = json.Unmarshal([]byte(row.Shape), &sh) // what cannot be read is not shown
	return sh
}

// ownLogin reports whether each caller has a credential of their own: one that is refused
// is theirs to renew.
func ownLogin(creds []store.Credential) bool {
	for i := range creds {
		if credentialShapeOf(&creds[i]).PerUser {
			return true
		}
	}
	return false
}

func oauthType(authType string) bool { return authType == "oauth2" || authType == "oidc" }

// sent is how the credentials of a connector are sent, masked.
func sent(creds []store.Credential) string {
	out := make([]string, 0, len(creds))
	for i := range creds {
		sh, masked := credentialShapeOf(&creds[i]), "••••"+creds[i].Last4
		switch {
		case sh.HeaderName != "":
			out = append(out, sh.HeaderName+": "+strings.TrimSpace(sh.HeaderPrefix+" "+masked))
		case sh.ParameterName != "":
			out = append(out, "parameter "+sh.ParameterName+": "+masked)
		case sh.CookieName != "":
			out = append(out, "cookie "+sh.CookieName+": "+masked)
		case sh.MemberName != "":
			out = append(out, "member "+sh.MemberName+": "+masked)
		case sh.Certificate != nil:
			out = append(out, "client certificate "+sh.Certificate.Subject)
		case creds[i].AuthType == registry.AuthBasic:
			out = append(out, "Authorization: Basic "+masked)
		default:
			out = append(out, "Authorization: Bearer "+masked)
		}
	}
	return strings.Join(out, "; ")
}

// upstreamOf is the host that a connector calls: as the toolset says, where its credentials
// may be sent, or as its specification says; "" when nothing does.
func upstreamOf(ctx context.Context, ws *store.Workspace, ts *store.Toolset, connector string, creds []store.Credential) (string, error) {
	all, err := ws.ToolsetConnectors(ctx, ts)
	if err != nil {
		return "", err
	}
	var of *store.ToolsetConnector
	for i := range all {
		c := &all[i]
		if c.Name != connector {
			continue
		}
		of = c
		if c.BaseURL != "" {
			return hostOf(c.BaseURL), nil
		}
		if c.SourceKind == "mcp" {
			return hostOf(c.SourceURL), nil
		}
	}
	for i := range creds {
		var origins struct {
			Call []string `json:"call"`
		}
		if json.Unmarshal([]byte(creds[i].Origins), &origins) == nil && len(origins.Call) > 0 {
			return hostOf(origins.Call[0]), nil
		}
	}
	if of == nil {
		return "", nil
	}
	v, err := ws.ConnectorVersion(ctx, of.Connector, of.ConnectorDigest)
	if problem.Is(err, problem.NotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var report struct {
		BaseURL string `json:"baseUrl"`
	}
	_ = json.Unmarshal([]byte(v.Report), &report) // what cannot be read names no host
	return hostOf(report.BaseURL), nil
}

func hostOf(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return ""
	}
	return u.Host
}

// preceding is the last change of a toolset before a time.
func preceding(ctx context.Context, ws *store.Workspace, before time.Time, resources ...string) (*Change, error) {
	a, err := ws.LastChange(ctx, store.Time{Time: before}, resources...)
	if err != nil || a == nil {
		return nil, err
	}
	return &Change{At: a.At.Time, Action: a.Action, Actor: a.ActorID}, nil
}
