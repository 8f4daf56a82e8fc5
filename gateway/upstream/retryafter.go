package upstream

import "github.com/valyala/fasthttp"

// RetryAfter is the header of that name when it has one of its two forms (RFC 9110
// §10.2.3); nil otherwise.
func RetryAfter(v []byte) (out []byte, seconds bool) {
	if len(v) == 0 || len(v) > 40 {
		return nil, false
	}
	seconds = true
	for _, c := range v {
		seconds = seconds && c >= '0' && c <= '9'
	}
	if !seconds {
		if _, err := fasthttp.ParseHTTPDate(v); err != nil {
			return nil, false
		}
	}
	return v, seconds
}
