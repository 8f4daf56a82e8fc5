package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/redact"
)

// TestDocument: secrets go, types and members stay, and what was the same is the same.
func TestDocument(t *testing.T) {
	f := func(personal bool, in, want string) {
		t.Helper()
		d := redact.Document{Personal: personal}
		got, err := d.JSON([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", in, got, err, want)
		}
		var a, b any
		if json.Unmarshal([]byte(in), &a) != nil || json.Unmarshal(got, &b) != nil {
			t.Errorf("%s: not JSON: %s", in, got)
		}
	}
	f(false, `{"id": 7, "big": 12345678901234567890, "ok": true, "none": null, "list": [ 1, "a" ]}`, `{"id":7,"big":12345678901234567890,"ok":true,"none":null,"list":[1,"a"]}`)
	f(false, `{"apiKey":"x","api_key":"x","password":"y","empty_secret":""}`, `{"apiKey":"[redacted-1]","api_key":"[redacted-1]","password":"[redacted-2]","empty_secret":""}`)
	f(false, `{"credentials":{"user":"u","n":5,"on":true,"list":["a"]}}`, `{"credentials":{"user":"[redacted-1]","n":0,"on":true,"list":["[redacted-2]"]}}`)
	f(false, `["Bearer abcdefghij", "https://u:p@h.example/x?access_token=abc&a=b"]`, `["Bearer [redacted-1]","https://[redacted-2]@h.example/x?access_token=[redacted-3]&a=b"]`)
	f(false, `{"note":"key sk_live_4eC39HqLyjWDarjtT1zdp7dc","again":"sk_live_4eC39HqLyjWDarjtT1zdp7dc"}`, `{"note":"key [redacted-1]","again":"[redacted-1]"}`)
	f(false, `{"sk_live_4eC39HqLyjWDarjtT1zdp7dc":1}`, `{"[redacted-1]":1}`)
	f(false, `{"email":"a@b.example","phone":"+49 170 1234567"}`, `{"email":"a@b.example","phone":"+49 170 1234567"}`)
	f(true, `{"email":"a@b.example","to":"<a@b.example>, c@d.example","phone":"+49 170 1234567","fax":491701234567}`,
		`{"email":"person1@example.com","to":"<person1@example.com>, person2@example.com","phone":"[personal-3]","fax":0}`)
	f(true, `{"owner":{"name":"Ada","login":"ada"},"product":{"name":"Lamp"},"customers":[{"name":"Ada"}],"home_address":{"street":"Way 1","no":1}}`,
		`{"owner":{"name":"[personal-1]","login":"[personal-2]"},"product":{"name":"Lamp"},"customers":[{"name":"[personal-1]"}],"home_address":{"street":"[personal-3]","no":0}}`)
	f(true, `[{"name":"Ada","email":"a@b.example"},{"name":"Lamp","price":5}]`, `[{"name":"[personal-1]","email":"person2@example.com"},{"name":"Lamp","price":5}]`)
	f(true, `{"call":"+49 170 1234567","date":"2026-03-01 12:00:00"}`, `{"call":"[personal-1]","date":"2026-03-01 12:00:00"}`)

	d := redact.Document{Personal: true}
	if _, err := d.JSON([]byte(`{"token":"a","email":"a@b.example","n":1}`)); err != nil || d.Redacted != 1 || d.Masked != 1 {
		t.Errorf("counts %d and %d, %v", d.Redacted, d.Masked, err)
	}
	if got := d.Text("token=a and a@b.example"); got != "token=[redacted-1] and person1@example.com" {
		t.Errorf("another document of the set: %q", got)
	}
	long := strings.Repeat("word ", 100_000)
	if got := d.Text(long); got != long {
		t.Errorf("a long text has %d bytes of %d", len(got), len(long))
	}
	if _, err := d.JSON([]byte(`{"a":`)); err == nil {
		t.Error("half a document was redacted")
	}
}
