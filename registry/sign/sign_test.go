package sign

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

func key(t testing.TB) *Key {
	t.Helper()
	k, err := GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func trust(t testing.TB, keys ...*Key) *Trust {
	t.Helper()
	tr, err := NewTrust(listed(keys...), registry.UseRelease)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func listed(keys ...*Key) []registry.TrustedKey {
	var out []registry.TrustedKey
	for _, k := range keys {
		out = append(out, k.Trusted(registry.UseRelease, ""))
	}
	return out
}

// The examples of the DSSE protocol document.
func TestPreAuthenticationEncoding(t *testing.T) {
	f := func(payloadType, payload, want string) {
		t.Helper()
		if got := string(preAuth(payloadType, []byte(payload))); got != want {
			t.Fatalf("PAE(%q, %q) = %q, want %q", payloadType, payload, got, want)
		}
	}
	f("http://example.com/HelloWorld", "hello world", "DSSEv1 29 http://example.com/HelloWorld 11 hello world")
	f("", "", "DSSEv1 0  0 ")
	f("a", "\xff\n", "DSSEv1 1 a 2 \xff\n")
}

func TestSignVerify(t *testing.T) {
	k, other := key(t), key(t)
	env, err := Sign(k, PayloadRelease, []byte("payload"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Sign(k, PayloadRelease, []byte("payload"))
	if err != nil || !bytes.Equal(env, again) {
		t.Fatalf("signing twice differs, %v", err)
	}
	payload, id, err := Verify(env, PayloadRelease, trust(t, other, k))
	if err != nil || string(payload) != "payload" || id != k.ID() {
		t.Fatalf("Verify = %q, %s, %v", payload, id, err)
	}

	refuse := func(what string, env []byte, payloadType string, tr *Trust) {
		t.Helper()
		payload, id, err := Verify(env, payloadType, tr)
		if !problem.Is(err, problem.InvalidRelease) || payload != nil || id != "" {
			t.Fatalf("%s: %q, %q, %v; want a refusal and nothing else", what, payload, id, err)
		}
	}
	change := func(f func(*envelope)) []byte {
		var e envelope
		if err := json.Unmarshal(env, &e); err != nil {
			t.Fatal(err)
		}
		f(&e)
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if _, _, err := Verify(change(func(*envelope) {}), PayloadRelease, trust(t, k)); err != nil {
		t.Fatalf("the control: %v", err)
	}
	refuse("unknown key", env, PayloadRelease, trust(t, other))
	refuse("no keys", env, PayloadRelease, trust(t))
	refuse("another purpose", env, PayloadAccess, trust(t, k))
	refuse("another type inside", change(func(e *envelope) { e.PayloadType = PayloadAccess }), PayloadAccess, trust(t, k))
	refuse("another payload", change(func(e *envelope) { e.Payload = []byte("payloae") }), PayloadRelease, trust(t, k))
	refuse("another signature", change(func(e *envelope) { e.Signatures[0].Sig[5] ^= 1 }), PayloadRelease, trust(t, k))
	refuse("half a signature", change(func(e *envelope) { e.Signatures[0].Sig = e.Signatures[0].Sig[:32] }), PayloadRelease, trust(t, k))
	refuse("the id of another key", change(func(e *envelope) { e.Signatures[0].KeyID = other.ID() }), PayloadRelease, trust(t, k, other))
	refuse("unsigned", change(func(e *envelope) { e.Signatures = nil }), PayloadRelease, trust(t, k))
	refuse("too many signatures", change(func(e *envelope) {
		for range maxSignatures {
			e.Signatures = append(e.Signatures, e.Signatures[0])
		}
	}), PayloadRelease, trust(t, k))
	most := change(func(e *envelope) {
		for range maxSignatures - 1 {
			e.Signatures = append(e.Signatures, e.Signatures[0])
		}
	})
	if _, _, err := Verify(most, PayloadRelease, trust(t, k)); err != nil {
		t.Errorf("%d signatures: %v", maxSignatures, err)
	}
	refuse("zero bytes", nil, PayloadRelease, trust(t, k))
	refuse("truncated", env[:len(env)/2], PayloadRelease, trust(t, k))
	refuse("something behind it", append(bytes.Clone(env), '{'), PayloadRelease, trust(t, k))
	refuse("too large", bytes.Repeat([]byte{' '}, maxEnvelopeBytes+1), PayloadRelease, trust(t, k))
	// A second, unknown signature beside a good one is fine: keys are rotated so.
	both := change(func(e *envelope) { e.Signatures = append([]signature{{KeyID: "x", Sig: []byte("y")}}, e.Signatures...) })
	if _, _, err := Verify(both, PayloadRelease, trust(t, k)); err != nil {
		t.Fatalf("an unknown signature beside a good one: %v", err)
	}
}

func TestNewTrustRefuses(t *testing.T) {
	k := key(t).Trusted(registry.UseRelease, "")
	k.KeyID = strings.Repeat("0", 64)
	if _, err := NewTrust([]registry.TrustedKey{k}, registry.UseRelease); !problem.Is(err, problem.InvalidRelease) {
		t.Fatalf("a key under another id: %v", err)
	}
	junk := registry.TrustedKey{KeyID: keyID([]byte("junk")), Use: registry.UseRelease, PublicKey: []byte("junk")}
	if _, err := NewTrust([]registry.TrustedKey{junk}, registry.UseRelease); !problem.Is(err, problem.InvalidRelease) {
		t.Fatalf("junk as a key: %v", err)
	}
	if tr, err := NewTrust([]registry.TrustedKey{junk}, registry.UseWorkspace); err != nil || tr.Len() != 0 {
		t.Fatalf("a key of another use: %v", err)
	}
}

func TestOpenKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "release.key")
	first, err := OpenKey(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v; want 0600", info.Mode(), err)
	}
	second, err := OpenKey(path)
	if err != nil || first.ID() != second.ID() {
		t.Fatalf("opened %v, %v; want the same key", second, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Fatalf("left behind: %v, %v", entries, err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenKey(path); problem.As(err) == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Fatalf("mode %04o: %v", mode, err)
		}
	}
}

func TestOpenKeyRefusesWhatIsNoKey(t *testing.T) {
	f := func(what string, content []byte) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "k")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if k, err := OpenKey(path); problem.As(err) == nil || k != nil {
			t.Fatalf("%s: %v, %v", what, k, err)
		}
		after, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(after, content) {
			t.Fatalf("%s: the file was replaced", what)
		}
	}
	f("an empty file", nil)
	f("text", []byte("hello"))
	f("junk in PEM", []byte("-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n"))
	f("too much", bytes.Repeat([]byte{'x'}, maxKeyFileBytes+1))
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenKey(dir); problem.As(err) == nil {
		t.Fatalf("a directory: %v", err)
	}
}

// Processes that start together agree on one key.
func TestOpenKeyOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	ids := make([]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			k, err := OpenKey(path)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = k.ID()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("two keys: %v", ids)
		}
	}
}

// A release key may be followed by the keys before it, which sign beside it.
func TestOpenReleaseKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "release.key")
	write := func(keys ...*Key) {
		t.Helper()
		var text []byte
		for _, k := range keys {
			der, err := x509.MarshalPKCS8PrivateKey(k.private)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der})...)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keys := []*Key{key(t), key(t), key(t), key(t), key(t)}
	write(keys[:maxReleaseKeys]...)
	k, err := OpenReleaseKey(path)
	if err != nil || k.ID() != keys[0].ID() || len(k.TrustedAll(registry.UseRelease, "")) != maxReleaseKeys {
		t.Fatalf("%v, %v", k, err)
	}
	env, err := Sign(k, PayloadRelease, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range keys[:maxReleaseKeys] { // whoever trusts one of them
		trust, err := NewTrust([]registry.TrustedKey{one.Trusted(registry.UseRelease, "")}, registry.UseRelease)
		if err != nil {
			t.Fatal(err)
		}
		if _, id, err := Verify(env, PayloadRelease, trust); err != nil || id != one.ID() {
			t.Errorf("%s: %s, %v", one, id, err)
		}
	}
	for what, bad := range map[string][]*Key{"too many": keys, "twice": {keys[0], keys[1], keys[0]}, "none": {}} {
		write(bad...)
		if k, err := OpenReleaseKey(path); problem.As(err) == nil || k != nil {
			t.Errorf("%s: %v, %v", what, k, err)
		}
	}
	write(keys[:2]...)
	if k, err := OpenKey(path); problem.As(err) == nil || k != nil {
		t.Errorf("a key of another use with an older one: %v, %v", k, err)
	}
}

func TestKeyPrintsNoSecret(t *testing.T) {
	k := key(t)
	secret := string(k.private.Seed())
	for _, s := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %s", k, k, k, k)} {
		if strings.Contains(s, secret) || strings.Contains(s, base64.StdEncoding.EncodeToString(k.private)) || strings.Contains(s, "private") {
			t.Fatalf("prints %q", s)
		}
	}
}

// release makes a signed release of a position.
func release(t testing.TB, k *Key, epoch, revision uint64, trusted []registry.TrustedKey, mark string) []byte {
	t.Helper()
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	env, err := SignRelease(k, &registry.Release{
		Group: "default", Epoch: epoch, Revision: revision, Issued: at, Expires: at.Add(time.Hour), Trusted: trusted,
		Toolsets: []registry.ReleaseToolset{{
			ID: "ts", Workspace: "w", Slug: "s", Revision: 1, Repository: "w/toolsets/s", Bundle: registry.DigestOf([]byte(mark)),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func ratchet(t testing.TB, s *State, keys ...*Key) *Ratchet {
	t.Helper()
	r, err := NewRatchet("default", listed(keys...), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRatchet(t *testing.T) {
	k := key(t)
	r := ratchet(t, nil, k)
	f := func(epoch, revision uint64, mark, want string) {
		t.Helper()
		got, err := r.Accept(release(t, k, epoch, revision, listed(k), mark))
		if want == "" && err != nil || want != "" && (!problem.Is(err, problem.InvalidRelease) || !strings.Contains(err.Error(), want)) {
			t.Fatalf("%d.%d %s: %v; want %q", epoch, revision, mark, err, want)
		}
		if err == nil && (got.Release().Revision != revision || got.Signer().KeyID != k.ID()) {
			t.Fatalf("accepted %+v", got)
		}
	}
	f(1, 5, "a", "")
	f(1, 5, "a", "") // the same again
	f(1, 5, "b", "two different releases are both 1.5")
	f(1, 4, "a", "older than 1.5")
	f(1, 6, "b", "")
	f(1, 5, "a", "older")
	f(2, 1, "a", "") // a restore raised the epoch
	f(1, 99, "a", "older than 2.1")

	// What is remembered holds over a restart.
	s := r.State()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back State
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	r = ratchet(t, &back, k)
	f(1, 99, "a", "older than 2.1")
	f(2, 1, "b", "two different")
	f(2, 2, "b", "")
}

func TestRatchetOtherGroup(t *testing.T) {
	k := key(t)
	r, err := NewRatchet("north", listed(k), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Accept(release(t, k, 1, 1, listed(k), "a")); !problem.Is(err, problem.InvalidRelease) {
		t.Fatalf("the release of another group: %v", err)
	}
	s := r.State()
	if _, err := NewRatchet("south", listed(k), &s); err == nil {
		t.Fatal("the notes of another group are taken")
	}
	if _, err := NewRatchet("north", nil, nil); err == nil {
		t.Fatal("a ratchet that trusts nobody")
	}
}

// Trust moves only through releases signed by a key trusted before.
func TestRatchetRotation(t *testing.T) {
	old, next, stranger := key(t), key(t), key(t)
	r := ratchet(t, nil, old)
	accept := func(what string, env []byte) {
		t.Helper()
		if _, err := r.Accept(env); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	refuse := func(what string, env []byte) {
		t.Helper()
		before := r.State()
		if _, err := r.Accept(env); !problem.Is(err, problem.InvalidRelease) {
			t.Fatalf("%s: %v; want a refusal", what, err)
		}
		if after := r.State(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Fatalf("%s: a refusal changed the state", what)
		}
	}
	first := release(t, old, 1, 1, listed(old), "a")
	accept("first", first)
	refuse("a stranger that names itself", release(t, stranger, 1, 2, listed(old, stranger), "a"))
	refuse("the next key before it is named", release(t, next, 1, 2, listed(old, next), "a"))
	both := release(t, old, 1, 2, listed(old, next), "a")
	accept("the old key names the next", both)
	accept("the next key signs", release(t, next, 1, 3, listed(old, next), "a"))
	refuse("a replay of a release of the old key", both)
	refuse("a replay from before the next key", first)
	// The old key is stolen and signs far ahead; the next key ends it.
	accept("far ahead", release(t, old, 9, 1<<60, listed(old, next), "evil"))
	refuse("below it while the old key is trusted", release(t, next, 1, 4, listed(old, next), "a"))
	accept("the next key without the old one", release(t, next, 1, 4, listed(next), "a"))
	refuse("the old key after its end", release(t, old, 9, 1<<60+1, listed(old), "evil"))
	refuse("the anchor after its end, from the notes of a former run", func() []byte {
		s := r.State()
		r = ratchet(t, &s, old)
		return release(t, old, 9, 1<<60+2, listed(old), "evil")
	}())
	// A key that returns does not bring back its old releases.
	refuse("a return below its own mark", release(t, next, 1, 5, listed(old, next), "a"))
}

// TestOtherJSON: an envelope may be written as JSON allows; ours is only read faster.
func TestOtherJSON(t *testing.T) {
	k := key(t)
	env := string(release(t, k, 1, 1, listed(k), "a"))
	f := func(what, env string, ok bool) {
		t.Helper()
		if _, err := VerifyRelease([]byte(env), trust(t, k)); (err == nil) != ok {
			t.Errorf("%s: %v, want it good: %v", what, err, ok)
		}
	}
	f("as it is", env, true)
	at := strings.Index(env, `"payload":"`) + len(`"payload":"`)
	f("an escaped letter of the payload", env[:at]+fmt.Sprintf("\\u%04x", env[at])+env[at+1:], true)
	f("an escaped letter of the type", strings.Replace(env, `"payloadType":"a`, `"payloadType":"\u0061`, 1), true)
	f("another member", strings.Replace(env, `{"payload"`, `{"x":1,"payload"`, 1), true)
	f("a payload before it", strings.Replace(env, `{"payload"`, `{"payload":"e30=","payload"`, 1), true) // the last one counts
	f("a payload behind it", strings.TrimSuffix(strings.TrimSpace(env), "}")+`,"payload":"e30="}`, false)
	f("a type behind it", strings.TrimSuffix(strings.TrimSpace(env), "}")+`,"payloadType":"x"}`, false)
	f("signatures behind it", strings.TrimSuffix(strings.TrimSpace(env), "}")+`,"signatures":[]}`, false)
	f("no payload", `{"payloadType"`+strings.SplitN(env, `"payloadType"`, 2)[1], false)
}

// TestUnreadableTrust: a release whose keys cannot be used is refused when it is read,
// not when the next one has to be verified with them.
func TestUnreadableTrust(t *testing.T) {
	k, other := key(t), key(t)
	payload, _, err := Verify(release(t, k, 1, 1, listed(k), "a"), PayloadRelease, trust(t, k))
	if err != nil {
		t.Fatal(err)
	}
	f := func(what string, payload []byte, ok bool) {
		t.Helper()
		env, err := Sign(k, PayloadRelease, payload)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := VerifyRelease(env, trust(t, k)); (err == nil) != ok {
			t.Errorf("%s: %v, want it good: %v", what, err, ok)
		}
		if _, err := ratchet(t, nil, k).Accept(env); (err == nil) != ok {
			t.Errorf("%s, accepted: %v, want it good: %v", what, err, ok)
		}
	}
	f("as it is", payload, true)
	f("the id of another key", bytes.Replace(payload, []byte(k.ID()), []byte(other.ID()), 1), false)
	mine, theirs := base64.StdEncoding.EncodeToString(k.der), base64.StdEncoding.EncodeToString(other.der)
	f("another key under its id", bytes.Replace(payload, []byte(mine), []byte(theirs), 1), false)
	f("no key", bytes.Replace(payload, []byte(mine), []byte("AAAA"), 1), false)
}

// TestTrustedAll names the use and the workspace of the key and of those beside it.
func TestTrustedAll(t *testing.T) {
	k := key(t)
	k.older = []*Key{key(t)}
	got := k.TrustedAll("a-use", "a-workspace")
	if len(got) != 2 || got[0].KeyID != k.ID() || got[1].KeyID != k.older[0].ID() {
		t.Fatalf("%+v", got)
	}
	for _, x := range got {
		if x.Use != "a-use" || x.Workspace != "a-workspace" {
			t.Errorf("%+v", x)
		}
	}
}

func TestKeyIDOf(t *testing.T) {
	k := key(t)
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der})
	if id, err := KeyIDOf(text); err != nil || id != k.ID() {
		t.Errorf("%q, %v", id, err)
	}
	if id, err := KeyIDOf([]byte("no key")); !problem.Is(err, problem.InvalidArgument) || id != "" {
		t.Errorf("no key: %q, %v", id, err)
	}
}

// TestRatchetLastWord: a key that signs a release which no longer lists it is held to
// its own mark all the same. Its farewell cannot be replayed after it was listed again.
func TestRatchetLastWord(t *testing.T) {
	old, next := key(t), key(t)
	r := ratchet(t, nil, old)
	f := func(env []byte, want string) {
		t.Helper()
		_, err := r.Accept(env)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Fatalf("%v, want %q", err, want)
		}
	}
	farewell := release(t, old, 1, 2, listed(next), "a")
	f(release(t, old, 1, 5, listed(old, next), "a"), "")
	f(farewell, "older than 1.5")
	f(release(t, old, 1, 5, listed(next), "b"), "two different releases")
	f(release(t, old, 1, 6, listed(next), "a"), "")
	f(release(t, old, 1, 7, listed(old, next), "a"), "no trusted key")
}

func TestExpired(t *testing.T) {
	k := key(t)
	r, err := VerifyRelease(release(t, k, 1, 1, listed(k), "a"), trust(t, k))
	if err != nil {
		t.Fatalf("a release past its expiry is verified all the same: %v", err)
	}
	if r.Expired(r.Release().Expires) || !r.Expired(r.Release().Expires.Add(time.Nanosecond)) {
		t.Fatal("Expired is off at its limit")
	}
	if !r.Digest().Matches(r.Envelope()) {
		t.Fatal("the digest is not of the envelope")
	}
}

// Nothing that a fuzzer can make verifies unless it carries the very payload
// that was signed.
func FuzzVerify(f *testing.F) {
	k := key(f)
	good := release(f, k, 1, 1, listed(k), "a")
	tr := trust(f, k)
	payload, _, err := Verify(good, PayloadRelease, tr)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-2])
	f.Add([]byte(`{"payload":"","payloadType":"","signatures":[{"sig":""}]}`))
	f.Fuzz(func(t *testing.T, env []byte) {
		got, _, err := Verify(env, PayloadRelease, tr)
		if err == nil && !bytes.Equal(got, payload) {
			t.Fatalf("verified %q, which was never signed", got)
		}
		if err != nil && got != nil {
			t.Fatalf("refused and returned %q", got)
		}
	})
}
