package e2e

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// conformanceAPI is a REST API with the tools that the conformance suite asks for,
// as far as an API can offer them, and conformanceSpec the specification of it.
func conformanceAPI(t *testing.T) *httptest.Server {
	t.Helper()
	media := func(kind, data string) http.HandlerFunc {
		b, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(b)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /text", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "This is a simple text response for testing.")
	})
	// A PNG of one pixel and a WAV without samples.
	mux.HandleFunc("GET /image", media("image/png", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="))
	mux.HandleFunc("GET /audio", media("audio/wav", "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="))
	mux.HandleFunc("GET /error", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "This tool intentionally returns an error for testing", http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /logging", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"logged":true}`)
	})
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(2500 * time.Millisecond): // past the first notification of progress
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"slow":true}`)
	})
	mux.HandleFunc("GET /echo/{word}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"word": r.PathValue("word")})
	})
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(conformanceSpec("http://" + r.Host))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

func conformanceSpec(base string) map[string]any {
	paths := map[string]any{}
	add := func(path, name, summary, media string, parameters ...any) {
		op := map[string]any{
			"operationId": name, "summary": summary,
			"responses": map[string]any{"200": map[string]any{"description": "OK", "content": map[string]any{media: map[string]any{}}}},
		}
		if len(parameters) > 0 {
			op["parameters"] = parameters
		}
		paths[path] = map[string]any{"get": op}
	}
	add("/text", "test_simple_text", "A text", "text/plain")
	add("/image", "test_image_content", "An image", "image/png")
	add("/audio", "test_audio_content", "A sound", "audio/wav")
	add("/error", "test_error_handling", "Fails", "application/json")
	add("/logging", "test_logging_tool", "Logs", "application/json")
	add("/slow", "test_slow", "Takes two seconds", "application/json")
	add("/echo/{word}", "echo", "Says a word again", "application/json",
		map[string]any{"name": "word", "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
	return map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "Conformance", "version": "1"},
		"servers": []any{map[string]any{"url": base}}, "paths": paths,
	}
}
