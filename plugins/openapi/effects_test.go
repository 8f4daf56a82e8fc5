package openapi

import (
	"bufio"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/operation"
)

// TestEffect: verbs count wherever an operation is named, nouns nowhere.
func TestEffect(t *testing.T) {
	for _, c := range []struct {
		id, path, summary, description string
		want                           force
	}{
		{path: "/apps.uninstall", id: "apps_uninstall", summary: "Uninstalls your app from a workspace.", want: destroys},
		{path: "/auth.revoke", id: "auth_revoke", want: destroys},
		{path: "/auth.revoke", want: destroys},
		{path: "/user/logout", id: "logoutUser", summary: "Logs out current logged in user session", want: destroys},
		{path: "/user/logout", id: "getUserLogout", summary: "Logs out", want: destroys},
		{path: "/log-out", want: destroys},
		{path: "/session/end-all", summary: "Sign out everywhere", want: destroys},
		{path: "/jobs/{id}/run", want: acts},
		{path: "/jobs/{id}:cancel", want: destroys},
		{path: "/jobs/{id}/start", id: "startJob", want: acts},
		{path: "/servers/{id}/reboot", want: destroys},
		{path: "/message/send", id: "message.send", want: acts},
		{path: "/message", id: "x", summary: "This endpoint can be used to send a message", want: acts},
		{path: "/cache", description: "Clears the cache.", want: destroys},
		{path: "/users/{id}/confirm", want: acts},
		{path: "/newsletter/subscribe", want: acts},
		{path: "/newsletter/unsubscribe", want: destroys},
		{path: "/cgi-bin/admin.php?action=delete&id={id}", want: destroys},
		{path: "/#Action=RunInstances", id: "GET_RunInstances", want: acts},
		{path: "/#Action=DeleteVpc", id: "GET_DeleteVpc", want: destroys},
		{path: "/server/gc", id: "getServerGc", summary: "Trigger garbage collection", want: acts},
		{path: "/accounts/{id}/unlink", want: destroys},
		{path: "/password/reset", want: destroys},
		{path: "/delete_user/{id}", want: destroys},
		{path: "/sessions", id: "sessionsRevokeGet", want: destroys},
		{path: "/tokens/de-authenticate", want: destroys},
		{path: "/verified_senders/verify/{token}", id: "GET_verified_senders-verify-token", summary: "Verify Sender Request", want: acts},
		{path: "/session/{id}", id: "getSessionId", summary: "Open a Session as another User", want: acts},
		{path: "/session/{id}", id: "getSession", summary: "Open a session of the user"},
		{path: "/benutzer/{id}/abmelden", want: destroys},
		{path: "/pedidos/{id}/cancelar", id: "cancelarPedido", want: destroys},
		{path: "/factures/{id}", id: "supprimerFacture", summary: "Supprime une facture", want: destroys},
		{path: "/rechnungen/{id}", id: "rechnungLoeschen", summary: "Löscht eine Rechnung", want: destroys},
		{path: "/mensagens", id: "enviarMensagem", want: acts},
		{path: "/rechnungen", summary: "Liefert alle Rechnungen"},
		{path: "/verify/{id}", id: "getVerification", summary: "Get a verification"},
		{path: "/webhooks/{token}", summary: "Webhook by token"},

		{path: "/deletions", summary: "List deletions"},
		{path: "/users/deleted", id: "listDeletedUsers", summary: "List deleted users"},
		{path: "/users/deleted", summary: "Deleted users"},
		{path: "/releases", id: "releases/list"},
		{path: "/releases/{id}", summary: "Get a release"},
		{path: "/events?starts_at={starts_at}", id: "getEvents"},
		{path: "/starts_at"},
		{path: "/messages/sent", summary: "Sent messages"},
		{path: "/send_date"},
		{path: "/cancel_policy", summary: "Cancel policy of a hotel"},
		{path: "/repos/{owner}/{repo}/import", id: "migrations/get-import-status", summary: "Get an import status"},
		{path: "/orders/{id}", id: "getOrder", summary: "Order details"},
		{path: "/stops/{id}", summary: "Stops of a line"},
		{path: "/runs", summary: "Runs of a workflow"},
		{path: "/runs/{id}", summary: "Run details"},
		{path: "/notifications", id: "notifyGetList", summary: "List notification threads"},
		{path: "/deploy_keys", id: "listDeployKeys"},
		{path: "/invites", id: "list_invites"},
		{path: "/posts/{id}", summary: "Post by ID"},
		{path: "/commands/send", id: "getCommandsSend", summary: "Fetch a list of saved commands"},
		{path: "/app/installations/{id}", id: "apps/get-installation", summary: "Get an installation", description: "Enables an app to get one."},
		{path: "/search", summary: "Perform a search query"},
		{path: "/companies/{id}", id: "READ_Company", description: "Create and manage companies."},
		{path: "/subscriptions"},
		{path: "/triggers"},
		{path: "/exports/{id}"},
		{path: "/"},
		{path: ""},
		{path: "/{id}", id: "-"},
	} {
		if got, verb := effect("GET", c.id, c.path, c.summary, c.description); got != c.want {
			t.Errorf("GET %s, id %q, summary %q, description %q: %d (%s), want %d", c.path, c.id, c.summary, c.description, got, verb, c.want)
		}
	}
}

// TestEffectsOfNames: what changes something is told from what reads by names and texts
// that are in no specification of the corpus.
func TestEffectsOfNames(t *testing.T) {
	table, err := os.ReadFile("testdata/effects.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for line := range strings.Lines(string(table)) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(c) != 4 {
			t.Fatalf("%q", line)
		}
		n[c[0]]++
		if does, verb := effect(http.MethodGet, c[2], c[1], c[3], ""); (does == reads) != (c[0] == "reads") {
			t.Errorf("GET %s, id %q, summary %q: force %d by %q, but it %s", c[1], c[2], c[3], does, verb, c[0])
		}
	}
	if n["reads"] < 60 || n["changes"] < 60 {
		t.Errorf("%v", n)
	}
}

// TestAnnotationsAgree: no operation is both read-only and destructive, and nothing
// read-only is told to be repeated with care.
func TestAnnotationsAgree(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "QUERY", "POST", "PUT", "PATCH", "DELETE", "PURGE"} {
		for _, f := range []force{reads, acts, destroys} {
			for _, name := range []string{"get_user", "create_user", "delete_user"} {
				a := annotations(method, strings.Split(name, "_"), f, proven)
				if a.ReadOnly && (a.Destructive || !a.Idempotent) || !a.OpenWorld {
					t.Errorf("%s %s of force %d: %+v", method, name, f, a)
				}
				if f != reads && a.ReadOnly || f == destroys && !a.Destructive {
					t.Errorf("%s %s of force %d: %+v", method, name, f, a)
				}
			}
		}
	}
}

// FuzzEffect: any text is read to its end without a panic.
func FuzzEffect(f *testing.F) {
	f.Add("GET", "GET_x", "/a.b/{c}:d?e=f#G=h", "Logs out", "This will")
	f.Fuzz(func(t *testing.T, method, id, path, summary, description string) {
		if does, verb := effect(method, id, path, summary, description); (does == reads) != (verb == "") {
			t.Errorf("force %d by %q", does, verb)
		}
	})
}

// TestHazardsOfCorpus: the safe methods of real specifications that are not marked
// read-only are exactly those of the reviewed list. A row of the list that says
// "false" reads in truth: what a rule by words costs.
func TestHazardsOfCorpus(t *testing.T) {
	dir := corpusDir(t)
	f, err := os.Open("testdata/hazards.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reviewed, wrong := map[string]bool{}, 0
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		cols := strings.Split(sc.Text(), "\t")
		if cols[0] == "verdict" {
			continue
		}
		reviewed[strings.Join(cols[1:4], " ")] = true
		if cols[0] == "false" {
			wrong++
		}
	}
	seen, safe := map[string]bool{}, 0
	for _, s := range corpusSpecs(t, dir) {
		_, err := Compile(t.Context(), corpusSource(t, dir, s), Options{Each: func(op *operation.Operation) error {
			switch op.Method {
			case http.MethodGet, http.MethodHead, http.MethodOptions, "QUERY":
			default:
				return nil
			}
			safe++
			key := s.id + " " + op.Method + " " + op.Path
			switch {
			case reviewed[key] && op.Annotations.ReadOnly:
				t.Errorf("%s is marked read-only", key)
			case !reviewed[key] && !op.Annotations.ReadOnly:
				t.Errorf("%s is not marked read-only and was not reviewed", key)
			}
			seen[key] = true
			return nil
		}})
		if err != nil && s.operations != "0" {
			continue // the compiler's own tests judge it
		}
	}
	for key := range reviewed {
		if !seen[key] {
			t.Errorf("%s is not in the corpus", key)
		}
	}
	t.Logf("%d operations of safe methods, %d not marked read-only, %d of them read in truth", safe, len(reviewed), wrong)
	if wrong*200 > safe {
		t.Errorf("%d of %d are false", wrong, safe)
	}
}
