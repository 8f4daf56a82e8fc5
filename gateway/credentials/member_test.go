package credentials

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

const memberKey = `k"&=ü-1`

func memberRequest(contentType, body string) *fasthttp.Request {
	req := fasthttp.AcquireRequest()
	req.SetRequestURI("http://h/")
	req.Header.SetMethod("POST")
	if contentType != "" {
		req.Header.SetContentType(contentType)
	}
	req.SetBodyString(body)
	return req
}

// applyMember puts the key into a body and takes it out again.
func applyMember(t *testing.T, contentType, body string) (with, without string, err error) {
	t.Helper()
	req := memberRequest(contentType, body)
	defer fasthttp.ReleaseRequest(req)
	r := Rule{Type: Body, Name: "key"}
	c := Credential{Value: secrets.New(memberKey), Origins: registry.Origins{"http://h"}}
	if err := r.Apply(req, c); err != nil {
		return "", "", err
	}
	if err := r.Apply(req, c); err != nil { // a renewed one takes the place of the old
		return "", "", err
	}
	with = string(req.Body())
	r.Strip(req)
	return with, string(req.Body()), nil
}

func TestApplyMember(t *testing.T) {
	f := func(contentType, body, want, after string) {
		t.Helper()
		with, without, err := applyMember(t, contentType, body)
		if err != nil || with != want || without != after {
			t.Errorf("%s %s: %s, then %s; %v; want %s, then %s", contentType, body, with, without, err, want, after)
		}
	}
	text, err := json.Marshal(memberKey)
	if err != nil {
		t.Fatal(err)
	}
	quoted := strings.ReplaceAll(string(text), `\u0026`, "&")
	f("", "", `{"key":`+quoted+`}`, `{}`)
	f("application/json", `{}`, `{"key":`+quoted+`}`, `{}`)
	f("application/json; charset=utf-8", `{"a":[1, 2],"b":"x"}`, `{"key":`+quoted+`,"a":[1, 2],"b":"x"}`, `{"a":[1, 2],"b":"x"}`)
	f("application/vnd.api+json", `{"key":"mine","a":{"key":1},"\u006bey":2}`, `{"key":`+quoted+`,"a":{"key":1}}`, `{"a":{"key":1}}`)
	form := "key=" + url.QueryEscape(memberKey)
	f("application/x-www-form-urlencoded", "", form, "")
	f("application/x-www-form-urlencoded", "a=1&key=mine&%6bey=2&b=%2F", "a=1&b=%2F&"+form, "a=1&b=%2F")
}

// TestApplyMemberOfMultipart reads the form back with the standard library.
func TestApplyMemberOfMultipart(t *testing.T) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, field := range [][2]string{{"key", "mine"}, {"note", "x\r\ny"}} {
		if err := w.WriteField(field[0], field[1]); err != nil {
			t.Fatal(err)
		}
	}
	file, err := w.CreateFormFile("file", "a.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte{0, 1, '\r', '\n', 255}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	with, without, err := applyMember(t, w.FormDataContentType(), b.String())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{with: memberKey, without: ""} {
		_, parameters, err := mime.ParseMediaType(w.FormDataContentType())
		if err != nil {
			t.Fatal(err)
		}
		form, err := multipart.NewReader(strings.NewReader(text), parameters["boundary"]).ReadForm(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(form.Value["key"], ","); got != want || form.Value["note"][0] != "x\r\ny" || len(form.File["file"]) != 1 {
			t.Errorf("the form has key %q, want %q; note %q, files %d", got, want, form.Value["note"], len(form.File["file"]))
			continue
		}
		in, err := form.File["file"][0].Open()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, []byte{0, 1, '\r', '\n', 255}) {
			t.Errorf("the file is %v; %v", got, err)
		}
	}
}

// TestApplyMemberRefuses: a body that the key cannot be put into is not sent.
func TestApplyMemberRefuses(t *testing.T) {
	for contentType, body := range map[string]string{
		"application/json": `[1]`, "application/problem+json": `{"a":`, "text/plain": "hi", "application/octet-stream": "\x00", "multipart/form-data": "x",
		"multipart/form-data; boundary=b": "no parts",
	} {
		req := memberRequest(contentType, body)
		err := Rule{Type: Body, Name: "key"}.Apply(req, Credential{Value: secrets.New(memberKey), Origins: registry.Origins{"http://h"}})
		if !problem.Is(err, problem.Unauthenticated) || strings.Contains(err.Error(), memberKey) || string(req.Body()) != body {
			t.Errorf("%s %q: %v, sent %q", contentType, body, err, req.Body())
		}
		fasthttp.ReleaseRequest(req)
	}
}

// TestApplyMemberOfGet: a body where none is expected may be lost on its way.
func TestApplyMemberOfGet(t *testing.T) {
	req := memberRequest("", "")
	defer fasthttp.ReleaseRequest(req)
	req.Header.SetMethod("GET")
	err := Rule{Type: Body, Name: "key"}.Apply(req, Credential{Value: secrets.New(memberKey), Origins: registry.Origins{"http://h"}})
	if !problem.Is(err, problem.Unauthenticated) || len(req.Body()) > 0 {
		t.Errorf("%v, sent %q", err, req.Body())
	}
}

// TestStripUnreadableMember: where the key cannot be found any more the whole body
// goes.
func TestStripUnreadableMember(t *testing.T) {
	req := memberRequest("text/plain", "something with "+memberKey)
	defer fasthttp.ReleaseRequest(req)
	Rule{Type: Body, Name: "key"}.Strip(req)
	if len(req.Body()) > 0 {
		t.Errorf("left %q", req.Body())
	}
}
