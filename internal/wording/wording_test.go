package wording

import (
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for many, one := range map[string]string{
		"aliases": "alias", "statuses": "status", "databases": "database", "caches": "cache", "branches": "branch", "boxes": "box", "addresses": "address",
		"movies": "movie", "policies": "policy", "indices": "index", "analyses": "analysis", "series": "series", "news": "news", "dns": "dns", "pets": "pet",
		"status": "status", "people": "person", "sizes": "size", "licenses": "license", "": "",
	} {
		if got := Singular(many); got != one {
			t.Errorf("%q: %q, want %q", many, got, one)
		}
	}
	for text, want := range map[string]string{
		"OAuthClient": "oauth client", "getOAuth2Token": "get oauth2 token", "GitHubApps": "github apps", "o auth": "o auth", "listIDs": "list ids", "iOS": "ios",
		"récupérerUtilisateur": "recuperer utilisateur", "añadirUsuario": "anadir usuario", "/straße": "strasse", "pobierzPogodęŁódź": "pobierz pogode lodz",
		"Ümlaut": "umlaut", "e\u0301lan": "elan", "ærligØl": "aerlig ol", "获取User用户": "user", "Ελλάδα": "", "\xffa": "a",
	} {
		if got := strings.Join(Split(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestBounds(t *testing.T) {
	if got := Split(strings.Repeat("x", maxText) + "y"); len(got) != 1 || len(got[0]) != maxText {
		t.Errorf("%d words, the first of %d bytes", len(got), len(got[0]))
	}
	if got := Split(strings.Repeat("x ", maxWords)); len(got) != maxWords {
		t.Errorf("%d words at the limit", len(got))
	}
	if got := Split(strings.Repeat("x ", maxWords+1)); len(got) != maxWords {
		t.Errorf("%d words past the limit", len(got))
	}
	if got := Dedupe([]string{"a", "a", "b", "a"}); strings.Join(got, " ") != "a b a" {
		t.Errorf("%v", got)
	}
}
