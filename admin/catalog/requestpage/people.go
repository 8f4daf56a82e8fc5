package requestpage

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/mail"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// maxAddress of an e-mail address (RFC 5321, section 4.5.3.1.3).
	maxAddress = 254
	// maxPeople confirmed an address. What they are looked up by is in memory.
	maxPeople = 10_000
	// maxToken is the longest sealed text that is opened: one of the longest address has 740
	// bytes.
	maxToken = 1024
	// maxUsed are the links that were used and have not expired, of which each is refused.
	maxUsed = 10_000
	// linkLife is how long a link confirms an address.
	linkLife = 30 * time.Minute
	// sessionLife is how long a browser may vote.
	sessionLife = 30 * 24 * time.Hour
)

// What links and cookies are sealed for: one is not good as the other.
var (
	linkRecord    = secrets.Record{Key: "links/request-page", Version: 1}
	sessionRecord = secrets.Record{Key: "sessions/request-page", Version: 1}
)

// token is what a link or a cookie says.
type token struct {
	Address string `json:"a,omitempty"` // of a link
	Person  string `json:"p,omitempty"` // of a cookie
	Once    string `json:"o,omitempty"` // of a link: it is used once
	Until   int64  `json:"u"`           // seconds since 1970
}

// people knows who confirmed which address. Only digests under a key of this process are in
// memory, and only sealed addresses are in the records.
type people struct {
	ws      *store.Workspace
	keyring *secrets.Keyring
	key     [32]byte
	began   time.Time // links of earlier are not valid: which of them were used is not known

	// mu is held while a person is written down, so that one address never becomes two people.
	mu   sync.Mutex
	ids  map[[sha256.Size]byte]string // guarded by mu; by digest of the address
	has  map[string][sha256.Size]byte // guarded by mu; the same the other way round
	used map[string]int64             // guarded by mu; links, until when
}

func loadPeople(ctx context.Context, ws *store.Workspace, ring *secrets.Keyring) (*people, error) {
	p := &people{ws: ws, keyring: ring, began: ws.Now(), ids: map[[sha256.Size]byte]string{}, has: map[string][sha256.Size]byte{}, used: map[string]int64{}}
	_, _ = rand.Read(p.key[:]) // it never fails
	rows, err := ws.RequestPeople(ctx)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		b, err := ring.OpenBytes(rows[i].Record(), rows[i].Sealed)
		if err != nil {
			return nil, fmt.Errorf("opening the address of %s: %w", rows[i].ID, err)
		}
		p.knowLocked(rows[i].ID, string(b))
		clear(b)
	}
	return p, nil
}

func (p *people) digest(address string) (out [sha256.Size]byte) {
	mac := hmac.New(sha256.New, p.key[:])
	mac.Write([]byte(identity(address)))
	mac.Sum(out[:0])
	return out
}

func (p *people) knowLocked(id, address string) {
	d := p.digest(address)
	p.ids[d], p.has[id] = id, d
}

// parseAddress is the address that somebody wrote into the form, without a name, and without
// the marks by which some mail servers pass mail on to another one (ann%b.example@c.example,
// b!ann@c.example): mail goes to the mailbox that is counted. It fails with
// [problem.InvalidArgument].
func parseAddress(text string) (string, error) {
	text = strings.TrimSpace(text)
	a, err := mail.ParseAddress(text)
	if len(text) > maxAddress || err != nil || a.Address != text || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>(),;:\[]%!`, r) }) {
		return "", request.FieldFault("/email", "%.80q is not an e-mail address that can be written to, such as ann@example.com", text)
	}
	if _, host, _ := strings.Cut(text, "@"); !strings.Contains(host, ".") {
		return "", request.FieldFault("/email", "%.80q has no host name that the internet knows", text)
	}
	return text, nil
}

// identity is what two addresses of one mailbox have in common: upper case, and what many
// mail servers let people append to their name, make no second vote.
func identity(address string) string {
	name, host, _ := strings.Cut(strings.ToLower(address), "@")
	name, _, _ = strings.Cut(name, "+")
	return name + "@" + host
}

func (p *people) seal(rec secrets.Record, t token) (string, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	defer clear(b)
	sealed, err := p.keyring.SealBytes(rec, b)
	if err != nil {
		return "", fmt.Errorf("sealing a token of the page of requests: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// unseal opens a link or a cookie; false: it is none of ours, or has expired.
func (p *people) unseal(rec secrets.Record, text string) (t token, ok bool) {
	if len(text) > maxToken {
		return t, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return t, false
	}
	b, err := p.keyring.OpenBytes(rec, sealed)
	if err != nil || json.Unmarshal(b, &t) != nil {
		return token{}, false
	}
	return t, p.ws.Now().Before(time.Unix(t.Until, 0))
}

// link makes the end of a link that confirms an address.
func (p *people) link(address string) (string, error) {
	return p.seal(linkRecord, token{Address: address, Once: newID(), Until: p.ws.Now().Add(linkLife).Unix()})
}

// session makes the cookie of a person.
func (p *people) session(id string) (string, error) {
	return p.seal(sessionRecord, token{Person: id, Until: p.ws.Now().Add(sessionLife).Unix()})
}

// whose is the person of a cookie; "": nobody, or one who wants to be forgotten.
func (p *people) whose(cookie string) string {
	t, ok := p.unseal(sessionRecord, cookie)
	if !ok {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, here := p.has[t.Person]; !here {
		return ""
	}
	return t.Person
}

func deadLink() error {
	return problem.New(problem.NotFound, "this link is not valid, or has expired").Fix("ask for a new one: a link works once, and for %d minutes", int(linkLife.Minutes()))
}

// valid is what a link says that can still be used.
func (p *people) valid(text string) (token, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.validLocked(text)
}

func (p *people) validLocked(text string) (token, error) {
	t, ok := p.unseal(linkRecord, text)
	if _, before := p.used[t.Once]; !ok || before || t.Until < p.began.Add(linkLife).Unix() {
		return token{}, deadLink()
	}
	return t, nil
}

// confirm uses a link up and returns the person of its address, a new one if nobody has it.
func (p *people) confirm(ctx context.Context, text string) (id string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.validLocked(text)
	if err != nil {
		return "", err
	}
	now := p.ws.Now().Unix()
	for once, until := range p.used {
		if until <= now {
			delete(p.used, once)
		}
	}
	if len(p.used) >= maxUsed {
		return "", problem.New(problem.Unavailable, "too many addresses are being confirmed").Fix("try again in %d minutes", int(linkLife.Minutes()))
	}
	d := p.digest(t.Address)
	if id = p.ids[d]; id == "" {
		if id, err = p.addLocked(ctx, t.Address); err != nil {
			return "", err
		}
	}
	p.used[t.Once] = t.Until
	return id, nil
}

// addLocked writes a person down.
func (p *people) addLocked(ctx context.Context, address string) (string, error) {
	if len(p.ids) >= maxPeople {
		return "", problem.New(problem.Conflict, "%d people confirmed an address on this page, which is the most", len(p.ids)).Fix("ask those who run it")
	}
	row := &store.RequestPerson{ID: p.ws.NewID(strings.TrimSuffix(store.RequestPersonPrefix, "_"))}
	row.WorkspaceID = p.ws.ID()
	var err error
	if row.Sealed, err = p.keyring.SealBytes(row.Record(), []byte(address)); err != nil {
		return "", fmt.Errorf("sealing an address: %w", err)
	}
	ctx = as(ctx, row.ID)
	err = p.ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.AddRequestPerson(ctx, row); err != nil {
			return err
		}
		return tx.Audit(ctx, request.Audit(ctx, "request-page.confirm", row.ID))
	})
	if err != nil {
		return "", err
	}
	p.knowLocked(row.ID, address)
	return row.ID, nil
}

// forget removes a person's address and votes.
func (p *people) forget(ctx context.Context, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.ForgetRequestPerson(ctx, id); err != nil {
			return err
		}
		return tx.Audit(ctx, request.Audit(ctx, "request-page.forget", id))
	})
	if err == nil {
		delete(p.ids, p.has[id])
		delete(p.has, id)
	}
	return err
}

// as is a context of work for a person.
func as(ctx context.Context, person string) context.Context {
	r := *request.Of(ctx)
	r.Public = person
	return request.With(ctx, &r)
}
