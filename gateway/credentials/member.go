package credentials

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// setMember puts a key into the body of req: a member of its JSON object, or a field
// of its form. What the caller sent by that name is taken out: an agent must not be
// able to choose the key. A request without a body gets an object, unless it is
// GET or HEAD, which have none.
func setMember(req *fasthttp.Request, name string, key secrets.Secret) error {
	if safe := req.Header.IsGet() || req.Header.IsHead(); !safe && len(req.Body()) == 0 && len(req.Header.ContentType()) == 0 {
		req.Header.SetContentType("application/json")
		req.SetBodyRaw([]byte("{}"))
	}
	body, ok := withMember(req, name, &key)
	if !ok {
		return problem.New(problem.Unauthenticated, "the credential of this connector goes into the member %.80q of the body, and the body is neither a JSON object nor a form", name).
			Fix("set an authentication that fits the API: a header or a query parameter")
	}
	req.SetBodyRaw(body)
	return nil
}

// dropMember takes the member off the body of req. A body that cannot be read any more
// goes as a whole: the key may be in it.
func dropMember(req *fasthttp.Request, name string) {
	if len(req.Body()) == 0 {
		return
	}
	body, ok := withMember(req, name, nil)
	if !ok {
		body = nil
	}
	req.SetBodyRaw(body)
}

// withMember is a copy of the body with the member set to key, without it where key is
// nil; false: the body is of another kind.
func withMember(req *fasthttp.Request, name string, key *secrets.Secret) ([]byte, bool) {
	media, parameters, err := mime.ParseMediaType(string(req.Header.ContentType()))
	if err != nil {
		return nil, false
	}
	body := req.Body()
	switch {
	case media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json"):
		v, err := jsonscan.Parse(body, 0)
		if err != nil || v.Kind() != jsonscan.Object {
			return nil, false
		}
		var value []byte
		if key != nil {
			value = jsonscan.AppendStringOf(nil, key.Reveal())
		}
		return jsonscan.AppendSet(nil, v, name, value), true
	case media == "application/x-www-form-urlencoded":
		if key == nil {
			return withoutPairs(body, name), true
		}
		return Rule{Name: name}.appendPair(body, *key), true
	case strings.HasPrefix(media, "multipart/"):
		return withPart(body, parameters["boundary"], name, key)
	}
	return nil, false
}

// withPart copies a multipart form with the part of a name set to key. Other parts keep
// their headers and bytes.
func withPart(body []byte, boundary, name string, key *secrets.Secret) ([]byte, bool) {
	if boundary == "" || key != nil && strings.Contains(key.Reveal(), boundary) {
		return nil, false
	}
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if w.SetBoundary(boundary) != nil || key != nil && w.WriteField(name, key.Reveal()) != nil {
		return nil, false
	}
	for r := multipart.NewReader(bytes.NewReader(body), boundary); ; {
		p, err := r.NextRawPart()
		if err == io.EOF { //nolint:errorlint // wrapped it means a form that ends early
			break
		}
		if err != nil {
			return nil, false
		}
		if p.FormName() == name {
			continue
		}
		to, err := w.CreatePart(p.Header)
		if err != nil {
			return nil, false
		}
		if _, err := io.Copy(to, p); err != nil {
			return nil, false
		}
	}
	if w.Close() != nil {
		return nil, false
	}
	return out.Bytes(), true
}
