package s3_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry/s3"
)

const sharedCredentials = `# of two stores
[default]
aws_access_key_id = HOMEKEY
aws_secret_access_key = home-secret
[other]
aws_access_key_id=OTHERKEY
aws_secret_access_key = "quoted#secret"
aws_session_token = temporary ; until tonight
[half]
aws_access_key_id = HALFKEY
`

// TestCredentials: the environment first, then a profile of the shared file, and a file
// or profile that is named before both.
func TestCredentials(t *testing.T) {
	signed := atomic.Pointer[http.Header]{}
	url, _ := store(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			signed.Store(&r.Header)
			h.ServeHTTP(w, r)
		})
	})
	home := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write(filepath.Join(home, ".aws", "credentials"), sharedCredentials)
	elsewhere := write(filepath.Join(home, "elsewhere"), "[default]\naws_access_key_id=ELSEKEY\naws_secret_access_key=x\n")
	broken := write(filepath.Join(home, "broken"), "[default]\ncanary-secret without a name\n")
	environment := map[string]string{"AWS_ACCESS_KEY_ID": "ENVKEY", "AWS_SECRET_ACCESS_KEY": "env-secret", "AWS_SESSION_TOKEN": "env-token"}
	f := func(what string, env map[string]string, file, profile, key, token, refusal string) {
		t.Helper()
		t.Run(what, func(t *testing.T) {
			for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE"} {
				t.Setenv(name, env[name])
			}
			t.Setenv("HOME", home)
			t.Setenv("USERPROFILE", home)
			o := options(t, url)
			o.CredentialsFile, o.Profile = file, profile
			_, err := s3.Open(t.Context(), o)
			if refusal != "" {
				if p := problem.As(err); p == nil || p.Kind != problem.InvalidArgument || !strings.Contains(err.Error(), refusal) || strings.Contains(err.Error(), "canary-secret") {
					t.Errorf("%v, want %s", err, refusal)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			h := *signed.Load()
			if got := h.Get("Authorization"); !strings.Contains(got, "Credential="+key+"/") || h.Get("X-Amz-Security-Token") != token {
				t.Errorf("signed with %q, token %q; want %s, %q", got, h.Get("X-Amz-Security-Token"), key, token)
			}
		})
	}
	f("environment", environment, "", "", "ENVKEY", "env-token", "")
	f("home", nil, "", "", "HOMEKEY", "", "")
	f("half an environment", map[string]string{"AWS_ACCESS_KEY_ID": "ENVKEY"}, "", "", "HOMEKEY", "", "")
	f("profile of the environment", map[string]string{"AWS_PROFILE": "other"}, "", "", "OTHERKEY", "temporary", "")
	f("file of the environment", map[string]string{"AWS_SHARED_CREDENTIALS_FILE": elsewhere}, "", "", "ELSEKEY", "", "")
	f("a profile before the environment", environment, "", "other", "OTHERKEY", "temporary", "")
	f("a file before the environment", environment, elsewhere, "", "ELSEKEY", "", "")
	f("no file", map[string]string{"AWS_SHARED_CREDENTIALS_FILE": filepath.Join(home, "absent")}, "", "", "", "", "there are no credentials for the bucket")
	f("no such profile", nil, "", "absent", "", "", `no access key for the profile "absent"`)
	f("half a profile", nil, "", "half", "", "", `no access key for the profile "half"`)
	f("not a credentials file", nil, broken, "", "", "", "has no access key")
}

// TestRenewedCredentials: a file that somebody renews is used without a restart.
func TestRenewedCredentials(t *testing.T) {
	key := atomic.Pointer[string]{}
	url, _ := store(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
			name, _, _ := strings.Cut(rest, "/")
			key.Store(&name)
			h.ServeHTTP(w, r)
		})
	})
	o := options(t, url)
	b := open(t, o)
	if err := os.WriteFile(o.CredentialsFile, []byte("[default]\naws_access_key_id=RENEWED\naws_secret_access_key=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Fetch(t.Context(), "sha256:"+"0000000000000000000000000000000000000000000000000000000000000000", 1); err == nil {
		t.Error("there is a content that nobody put")
	}
	if got := *key.Load(); got != "RENEWED" {
		t.Errorf("signed with %s", got)
	}
}
