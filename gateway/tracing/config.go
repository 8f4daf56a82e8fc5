package tracing

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// maxQueue bounds OTEL_BSP_MAX_QUEUE_SIZE.
	maxQueue = 65536
	// maxTime bounds the times that variables set.
	maxTime = 10 * time.Minute
)

// config is what the variables say.
type config struct {
	endpoint string
	headers  http.Header
	gzip     bool
	tls      *tls.Config
	timeout  time.Duration // of one export
	delay    time.Duration // between exports
	queue    int           // spans that wait, at most; the others are dropped
	batch    int           // spans in one export, at most
	sampler  sampler
	resource []attribute
}

// readConfig reads the variables; nil: tracing is off.
func readConfig(getenv func(string) string, version string) (*config, error) {
	get := func(names ...string) string {
		for _, name := range names {
			if v := strings.TrimSpace(getenv(name)); v != "" {
				return v
			}
		}
		return ""
	}
	exporter := get("OTEL_TRACES_EXPORTER")
	whole := get("OTEL_EXPORTER_OTLP_ENDPOINT")
	c := &config{endpoint: get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), headers: http.Header{}}
	switch {
	case strings.EqualFold(get("OTEL_SDK_DISABLED"), "true"), exporter == "none", exporter == "" && whole == "" && c.endpoint == "":
		return nil, nil //nolint:nilnil // off
	case exporter != "" && exporter != "otlp":
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not supported: use otlp or none", exporter)
	}
	if p := get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not supported: use http/protobuf, which collectors take on port 4318", p)
	}
	if c.endpoint == "" {
		if whole == "" {
			whole = "http://localhost:4318"
		}
		c.endpoint = strings.TrimSuffix(whole, "/") + "/v1/traces"
	}
	u, err := url.Parse(c.endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT is not a URL that begins with http:// or https://")
	}
	if u.User != nil {
		return nil, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT has a user in it: use OTEL_EXPORTER_OTLP_HEADERS for credentials")
	}
	if err := eachPair("OTEL_EXPORTER_OTLP_HEADERS", get("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"), func(k, v string) { c.headers.Set(k, v) }); err != nil {
		return nil, err
	}
	switch z := get("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"); z {
	case "", "none":
	case "gzip":
		c.gzip = true
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION: %q is not supported: use gzip or none", z)
	}
	if file := get("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		roots := x509.NewCertPool()
		if err != nil || !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %s has no certificate that can be read", file)
		}
		c.tls = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	if c.sampler, err = newSampler(get("OTEL_TRACES_SAMPLER"), get("OTEL_TRACES_SAMPLER_ARG")); err != nil {
		return nil, err
	}
	c.resource = []attribute{{"service.name", "sluice"}, {"service.version", version}}
	set := func(k, v string) {
		for i := range c.resource {
			if c.resource[i].key == k {
				c.resource[i].value = v
				return
			}
		}
		c.resource = append(c.resource, attribute{k, v})
	}
	if err := eachPair("OTEL_RESOURCE_ATTRIBUTES", get("OTEL_RESOURCE_ATTRIBUTES"), set); err != nil {
		return nil, err
	}
	if name := get("OTEL_SERVICE_NAME"); name != "" {
		set("service.name", name)
	}
	number := func(most, otherwise int, names ...string) int {
		n := otherwise
		if v := get(names...); v != "" && err == nil {
			if n, err = strconv.Atoi(v); err != nil || n < 1 || n > most {
				err = fmt.Errorf("%s: %q is not a number from 1 to %d", names[len(names)-1], v, most)
			}
		}
		return n
	}
	const most = int(maxTime / time.Millisecond)
	c.timeout = time.Duration(number(most, 10000, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")) * time.Millisecond
	c.delay = time.Duration(number(most, 5000, "OTEL_BSP_SCHEDULE_DELAY")) * time.Millisecond
	c.queue = number(maxQueue, 2048, "OTEL_BSP_MAX_QUEUE_SIZE")
	c.batch = min(number(maxQueue, 512, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), c.queue)
	return c, err
}

// eachPair reads key=value,key=value with percent-encoded values (W3C Baggage). A fault is
// told without the text, which may be a credential.
func eachPair(variable, text string, f func(k, v string)) error {
	if text == "" {
		return nil
	}
	for i, pair := range strings.Split(text, ",") {
		k, v, ok := strings.Cut(pair, "=")
		v, err := url.PathUnescape(strings.TrimSpace(v))
		if k = strings.TrimSpace(k); !ok || k == "" || err != nil {
			return fmt.Errorf("%s: part %d is not key=value", variable, i+1)
		}
		f(k, v)
	}
	return nil
}
