package secrets_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/secrets"
)

const canary = "cnry-5up3r-s3cr3t-9f3c"

// leaks reports the form in which the canary is in s: plain, hexadecimal,
// base64 or as a list of byte values.
func leaks(s string) string {
	forms := map[string]string{
		"plain":  canary,
		"hex":    hex.EncodeToString([]byte(canary)),
		"HEX":    strings.ToUpper(hex.EncodeToString([]byte(canary))),
		"base64": base64.StdEncoding.EncodeToString([]byte(canary))[:20],
		"bytes":  strings.Trim(fmt.Sprint([]byte(canary)), "[]"),
	}
	for name, form := range forms {
		if strings.Contains(s, form) {
			return name
		}
	}
	return ""
}

type holder struct {
	Name   string
	Public secrets.Secret
	hidden secrets.Secret
	ptr    *secrets.Secret
	list   []secrets.Secret
	byName map[string]secrets.Secret
}

func newHolder() holder {
	s := secrets.New(canary)
	return holder{"n", s, s, &s, []secrets.Secret{s}, map[string]secrets.Secret{"k": s}}
}

func TestNoVerbShowsASecret(t *testing.T) {
	s := secrets.New(canary)
	h := newHolder()
	values := map[string]any{
		"value": s, "pointer": &s, "holder": h, "pointer to holder": &h, "slice": []secrets.Secret{s},
		"map": map[string]secrets.Secret{"k": s}, "any": []any{s}, "reflect": reflect.ValueOf(s), "error": fmt.Errorf("x %v %w", s, errors.New("y")),
	}
	for name, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t", "%p", "%T", "%10.3v", "%U", "%b"} {
			if out := fmt.Sprintf(verb, v); leaks(out) != "" {
				t.Errorf("Sprintf(%q, %s) shows the secret (%s): %s", verb, name, leaks(out), out)
			}
		}
	}
	if got := fmt.Sprintf("%v|%x|%#v", s, s, s); got != "[redacted]|[redacted]|[redacted]" {
		t.Errorf("got %q", got)
	}
}

// A control for the test above: the same checks see a plain string.
func TestLeaksSeesAPlainValue(t *testing.T) {
	for _, verb := range []string{"%v", "%x", "%X", "%q"} {
		if leaks(fmt.Sprintf(verb, canary)) == "" {
			t.Errorf("leaks does not see Sprintf(%q)", verb)
		}
	}
	if leaks(fmt.Sprint([]byte(canary))) == "" || leaks(base64.StdEncoding.EncodeToString([]byte(canary))) == "" {
		t.Error("leaks does not see bytes or base64")
	}
}

func TestNoEncoderShowsASecret(t *testing.T) {
	h := newHolder()
	check := func(name, out string) {
		t.Helper()
		if leaks(out) != "" {
			t.Errorf("%s shows the secret: %s", name, out)
		}
	}
	b, err := json.Marshal(h)
	if err != nil || !strings.Contains(string(b), `"Public":"[redacted]"`) {
		t.Fatalf("json.Marshal = %s, %v", b, err)
	}
	check("json", string(b))
	b, err = xml.Marshal(struct {
		XMLName xml.Name `xml:"h"`
		S       secrets.Secret
	}{S: secrets.New(canary)})
	if err != nil {
		t.Fatal(err)
	}
	check("xml", string(b))
	var g bytes.Buffer
	_ = gob.NewEncoder(&g).Encode(h) // it may refuse, it may not leak
	check("gob", g.String())
	var log bytes.Buffer
	for _, hd := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(hd).Info("m", slog.Any("secret", secrets.New(canary)), slog.Any("holder", h), slog.Any("ptr", &h))
	}
	check("slog", log.String())
	if !strings.Contains(log.String(), secrets.Redacted) {
		t.Errorf("log has no redaction mark: %s", log.String())
	}
}

func TestSecretFromJSON(t *testing.T) {
	f := func(in, want string, wantErr error) {
		t.Helper()
		var v struct{ APIKey secrets.Secret }
		err := json.Unmarshal([]byte(in), &v)
		if !errors.Is(err, wantErr) || (wantErr == nil && err != nil) || v.APIKey.Reveal() != want {
			t.Fatalf("Unmarshal(%.60s) = %q, %v; want %q, %v", in, v.APIKey.Reveal(), err, want, wantErr)
		}
		if err != nil && leaks(err.Error()) != "" {
			t.Fatalf("error shows the secret: %v", err)
		}
	}
	f(`{"APIKey":"`+canary+`"}`, canary, nil)
	f(`{"APIKey":""}`, "", nil)
	f(`{"APIKey":null}`, "", nil)
	f(`{"APIKey":"[redacted]"}`, "", secrets.ErrRedacted)
	limit := strings.Repeat("k", secrets.MaxBytes)
	f(`{"APIKey":"`+limit+`"}`, limit, nil)
	f(`{"APIKey":"`+limit+`k"}`, "", secrets.ErrTooLarge)
}

// TestWire: JSON has the value, both ways and within the bounds of a Secret; nothing that
// prints has it.
func TestWire(t *testing.T) {
	type message struct {
		Token secrets.Wire `json:"token"`
	}
	for _, value := range []string{"", canary, `with "quotes" & <tags>`} {
		b, err := json.Marshal(message{secrets.Wire{Secret: secrets.New(value)}})
		plain, _ := json.Marshal(map[string]string{"token": value})
		if err != nil || string(b) != string(plain) {
			t.Errorf("Marshal = %s, %v; want %s", b, err, plain)
		}
		var back message
		if err := json.Unmarshal(b, &back); err != nil || back.Token.Reveal() != value {
			t.Errorf("Unmarshal(%s) = %q, %v", b, back.Token.Reveal(), err)
		}
	}
	if err := json.Unmarshal([]byte(`{"token":"`+strings.Repeat("k", secrets.MaxBytes+1)+`"}`), new(message)); !errors.Is(err, secrets.ErrTooLarge) {
		t.Errorf("of more than the limit: %v", err)
	}
	v := message{secrets.Wire{Secret: secrets.New(canary)}}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", slog.Any("secret", v.Token), slog.Any("message", v))
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", slog.Any("secret", v.Token))
	for _, out := range []string{log.String(), fmt.Sprintf("%v %+v %#v %x", v, v, v, v), v.Token.String()} {
		if leaks(out) != "" {
			t.Errorf("shows the secret: %s", out)
		}
	}
}

func TestEqualAndLast4(t *testing.T) {
	a := secrets.New(canary)
	if !a.Equal(secrets.New(canary)) || a.Equal(secrets.New(canary+"x")) || a.Equal(secrets.Secret{}) || !(secrets.Secret{}).Equal(secrets.New("")) {
		t.Error("Equal is wrong")
	}
	f := func(in, want string) {
		t.Helper()
		if got := secrets.New(in).Last4(); got != want {
			t.Errorf("Last4(%d bytes) = %q, want %q", len(in), got, want)
		}
	}
	f("12345678abcd", "abcd")
	f("1234567abcd", "")
	f("12345678ab\nd", "")
	f("12345678abé", "")
	f("", "")
	if got := string(a.AppendTo([]byte("Bearer "))); got != "Bearer "+canary {
		t.Errorf("AppendTo = %q", got)
	}
	if !(secrets.Secret{}).IsZero() || a.IsZero() {
		t.Error("IsZero is wrong")
	}
}
