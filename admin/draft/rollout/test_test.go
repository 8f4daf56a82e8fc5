package rollout

import (
	"bytes"
	"testing"
)

// TestShownAnswer: the caller of a test sees an answer up to a limit, a larger one where the
// test is inspected.
func TestShownAnswer(t *testing.T) {
	for inspect, most := range map[bool]int{false: maxShownAnswer, true: maxInspectedAnswer} {
		for _, n := range []int{most, most + 1} {
			run := &TestRun{inspect: inspect}
			if run.show(bytes.Repeat([]byte("a"), n)); len(run.Answer) > most || run.AnswerCut != (n > most) || !run.AnswerCut && len(run.Answer) != n {
				t.Errorf("inspected %v: of %d bytes %d are shown, cut: %v", inspect, n, len(run.Answer), run.AnswerCut)
			}
		}
	}
}

// TestRefusal: an API that answers every call with 200 says in the body that it does not accept
// the credential. What else goes wrong there is not about that.
func TestRefusal(t *testing.T) {
	for answer, want := range map[string]string{
		`{"ok":false,"error":"invalid_auth"}`:                  "invalid_auth",
		`{"ok":false,"error":"not_authed","warning":"x"}`:      "not_authed",
		`{"ok":false,"error":"token_revoked"}`:                 "token_revoked",
		`{"ok":false,"error":"the token xoxb-1 is not valid"}`: "its error is no word of a code",
		`{"ok":false,"error":"channel_not_found"}`:             "",
		`{"ok":false,"error":{"code":"invalid_auth"}}`:         "",
		`{"ok":true,"error":"invalid_auth"}`:                   "",
		`{"error":"invalid_auth"}`:                             "",
		`[]`:                                                   "",
		`ok: false`:                                            "",
	} {
		if got := refusal([]byte(answer)); got != want {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
}
