package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// A mirror serves exact contents and nothing else, to whom it may.
func TestMirror(t *testing.T) {
	x := serve(t)
	a, err := oci.New(oci.KindPlugin, []byte("module"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := oci.NewStore(x.store).Push(t.Context(), "acme/plugins/x", "v1", a); err != nil {
		t.Fatal(err)
	}
	h, err := server.NewMirror(server.MirrorOptions{From: x.store, Authorize: func(r *http.Request, _ string, _ server.Action) error {
		if _, _, ok := r.BasicAuth(); !ok {
			return server.ErrUnauthenticated
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	x.url = srv.URL
	at := "/v2/acme/plugins/x/"
	x.want(x.do("GET", "/v2/", ""), 200, "")
	got := x.want(x.do("GET", at+"manifests/"+string(a.Digest()), ""), 200, "")
	if string(got.body) != string(a.Manifest()) || got.Header.Get("Content-Type") != manifestType || got.Header.Get("Docker-Content-Digest") != string(a.Digest()) {
		t.Errorf("%s %v", got.body, got.Header)
	}
	if got := x.want(x.do("GET", at+"blobs/"+string(a.LayerDigest()), "", "Range: bytes=1-2"), 206, ""); string(got.body) != "od" || got.Header.Get("Content-Type") != "application/octet-stream" || got.Header.Get("ETag") != `"`+string(a.LayerDigest())+`"` {
		t.Errorf("%q, %v", got.body, got.Header)
	}
	x.want(x.do("HEAD", at+"blobs/"+string(a.LayerDigest()), ""), 200, "")
	x.want(x.do("GET", at+"blobs/"+digest("none"), ""), 404, "BLOB_UNKNOWN")
	x.want(x.do("GET", at+"manifests/"+digest("none"), ""), 404, "MANIFEST_UNKNOWN")
	x.want(x.do("GET", at+"manifests/v1", ""), 405, "UNSUPPORTED")
	x.want(x.do("GET", at+"tags/list", ""), 405, "UNSUPPORTED")
	x.want(x.do("POST", at+"blobs/uploads/", ""), 405, "UNSUPPORTED")
	x.want(x.do("DELETE", at+"manifests/"+string(a.Digest()), ""), 405, "UNSUPPORTED")
	x.want(x.do("GET", at+"blobs/sha256:1", ""), 400, "DIGEST_INVALID")
	x.want(x.do("GET", at+"blobs/"+digest("none"), "", "Authorization: "), 401, "UNAUTHORIZED")
	overwrite(t, x.dir+"/blobs/sha256/"+a.LayerDigest().Hex(), []byte("m0dule"))
	if got := x.want(x.do("GET", at+"blobs/"+string(a.LayerDigest()), ""), 500, "UNKNOWN"); strings.Contains(string(got.body), "m0dule") {
		t.Error("damaged content was served")
	}
	if _, err := server.NewMirror(server.MirrorOptions{}); err == nil {
		t.Error("a mirror of nothing")
	}
}
