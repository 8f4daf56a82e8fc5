package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// flowDocument describes the API that documents of workflows are run against.
const flowDocument = `{"openapi":"3.2.0","info":{"title":"Shop","version":"1"},"servers":[{"url":"SERVER"}],"paths":{
"/pets":{
 "get":{"operationId":"listPets","parameters":[{"name":"status","in":"query","schema":{"type":"string"}},{"name":"X-Tag","in":"header","schema":{"type":"string"}},{"name":"seen","in":"cookie","schema":{"type":"string"}}],"responses":{"200":{"description":"OK"}}},
 "post":{"operationId":"addPet","requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array","items":{}},"owner":{"type":"object"},"note":{"type":"string"}}}}}},"responses":{"201":{"description":"OK"}}}},
"/pets/{id}":{"get":{"operationId":"getPet","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"integer"}}],"responses":{"200":{"description":"OK"}}}},
"/search":{"get":{"operationId":"search","parameters":[{"name":"q","in":"querystring","content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}}}}],"responses":{"200":{"description":"OK"}}}},
"/token":{"post":{"operationId":"token","requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"user":{"type":"string"},"scope":{"type":"string"},"days":{"type":"integer"}}}}}},"responses":{"200":{"description":"OK"}}}},
"/notes":{"post":{"operationId":"addNote","requestBody":{"content":{"text/plain":{"schema":{"type":"string"}}}},"responses":{"200":{"description":"OK"}}}},
"/flaky/{key}":{"get":{"operationId":"flaky","parameters":[{"name":"key","in":"path","required":true,"schema":{"type":"string"}}],"responses":{"200":{"description":"OK"}}}},
"/repair/{key}":{"post":{"operationId":"repair","parameters":[{"name":"key","in":"path","required":true,"schema":{"type":"string"}}],"responses":{"200":{"description":"OK"}}}},
"/slow":{"get":{"operationId":"slow","responses":{"200":{"description":"OK"}}}}}}`

// flowServer answers with what it was sent. /flaky/KEY is well after two calls, or when
// /repair/KEY was called; /slow never answers.
func flowServer(ts *testscript.TestScript) *httptest.Server {
	var mu sync.Mutex
	tries := map[string]int{}
	pets := `[{"id":1,"name":"Rex","price":30,"status":"available"},{"id":2,"name":"Tom","price":9,"status":"sold"},{"id":3,"name":"Zoe","price":12,"status":"available"}]`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, out := http.StatusOK, map[string]any{}
		head, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		mu.Lock()
		defer mu.Unlock()
		switch head {
		case "openapi.json":
			_, _ = io.WriteString(w, strings.Replace(flowDocument, "SERVER", "http://"+r.Host, 1))
			return
		case "slow":
			mu.Unlock()
			<-r.Context().Done()
			mu.Lock()
			return
		case "flaky":
			if tries[key]++; tries[key] < 3 {
				status, out["why"] = http.StatusServiceUnavailable, "busy"
				w.Header().Set("Retry-After", "0")
			}
			out["tries"] = tries[key]
		case "repair":
			tries[key] = 10
		case "pets":
			var all []map[string]any
			_ = json.Unmarshal([]byte(pets), &all)
			switch {
			case r.Method == http.MethodPost:
				status = http.StatusCreated
				w.Header().Set("Location", "/pets/4")
			case key == "":
				w.Header().Set("X-Total", "3")
				out["pets"] = all
			case key == "1" || key == "2" || key == "3":
				out = all[key[0]-'1']
			default:
				status, out["title"] = http.StatusNotFound, "no such pet"
			}
		}
		body, _ := io.ReadAll(r.Body)
		out["sent"] = strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + r.Header.Get("X-Tag") + r.Header.Get("Cookie") + " " + string(body))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(out) // the client may be gone
	}))
	ts.Defer(srv.Close)
	return srv
}
