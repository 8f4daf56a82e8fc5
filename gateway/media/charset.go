package media

import (
	"bytes"
	"errors"
	"mime"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"

	"github.com/sluicegate/sluice/internal/problem"
)

// maxContentType: a longer Content-Type is not looked at for its charset.
const maxContentType = 1024

// UTF8 returns a text as UTF-8 whose Content-Type names another character encoding, by
// the names of the WHATWG Encoding Standard: body itself, or what it
// writes into buffer. An encoding that is not known, and bytes that cannot be decoded, leave
// body as it is. Text grows to three times its size at most; one over most bytes fails with
// [problem.UpstreamMalformed].
func UTF8(buffer *[]byte, contentType, body []byte, most int64) ([]byte, error) {
	i := bytes.IndexByte(contentType, ';')
	if i < 0 || len(body) == 0 || len(contentType) > maxContentType || len(bytes.TrimSpace(contentType[i:])) < len(";charset=x") {
		return body, nil
	}
	if charsetIsUTF8(contentType[i:]) {
		return body, nil
	}
	media, params, err := mime.ParseMediaType(string(contentType))
	if err != nil || params["charset"] == "" || !isText(media) {
		return body, nil //nolint:nilerr // a type that cannot be read names no charset
	}
	enc, err := htmlindex.Get(params["charset"])
	if err != nil {
		return body, nil //nolint:nilerr // an encoding that is not known stays
	}
	if name, err := htmlindex.Name(enc); err != nil || name == "utf-8" || name == "replacement" {
		return body, nil //nolint:nilerr // nothing to do
	}
	w := &boundedText{dst: (*buffer)[:0], most: most}
	t := transform.NewWriter(w, enc.NewDecoder())
	_, err = t.Write(body)
	if err == nil {
		err = t.Close()
	}
	if *buffer = w.dst; errors.Is(err, errDecodedTooLarge) {
		return nil, problem.New(problem.UpstreamMalformed, "the upstream's answer is larger than %d bytes as UTF-8", most).
			Fix("ask for less, with a smaller page, fewer fields or a narrower filter; or raise the limit: sluice toolset optimize TOOLSET --max-response MIB")
	}
	if err != nil {
		return body, nil //nolint:nilerr // what cannot be decoded stays as it came
	}
	return *buffer, nil
}

// charsetIsUTF8 reports the usual parameters, without parsing them.
func charsetIsUTF8(params []byte) bool {
	params = bytes.TrimSpace(params[1:])
	for _, s := range [...]string{"charset=utf-8", `charset="utf-8"`, "charset=us-ascii"} {
		if bytes.EqualFold(params, []byte(s)) {
			return true
		}
	}
	return false
}

// isText reports whether a charset means something for a media type.
func isText(media string) bool {
	switch k := KindOf([]byte(media), nil, false); k {
	case Image, Audio:
		return false
	case Text: // which an empty body is taken for
		return len(media) > 5 && media[:5] == "text/" || bytes.HasSuffix([]byte(media), []byte("yaml"))
	}
	return true
}

var errDecodedTooLarge = errors.New("text too large")

// boundedText is a writer that ends at a limit.
type boundedText struct {
	dst  []byte
	most int64
}

func (w *boundedText) Write(p []byte) (int, error) {
	if int64(len(w.dst)+len(p)) > w.most {
		return 0, errDecodedTooLarge
	}
	w.dst = append(w.dst, p...)
	return len(p), nil
}
