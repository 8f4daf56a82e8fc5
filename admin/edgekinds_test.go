package admin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
)

// pair is a certificate and its private key, as PEM.
func pair(t *testing.T) (certificate, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "edge"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// TestEdgeGetsEveryKind: an edge gets what a gateway applies of each kind of
// credential, single or in a list: access tokens and never what they are asked for
// with, and a new one when it was renewed.
func TestEdgeGetsEveryKind(t *testing.T) {
	w, as, ts := oauthWorld(t)
	path := "/v1/toolsets/" + ts.ID
	edge := w.enrolEdge(`{}`)
	set := func(body map[string]any) (values []string, etag string) {
		t.Helper()
		want[credential.Authentication](w, w.do("PUT", path+"/authentication", body), 200)
		want[view.Toolset](w, w.do("POST", path+"/deploy", map[string]any{"reason": "test"}), 200)
		doc, status := edge.credentials("")
		if status != 200 {
			t.Fatalf("credentials: %d", status)
		}
		for _, c := range doc.Credentials {
			values = append(values, c.Value.Reveal())
		}
		return values, doc.ETag
	}
	certificate, key := pair(t)
	got, _ := set(map[string]any{"authType": "list", "items": []any{
		map[string]any{"authType": "basic", "username": "u", "password": "password-0123456789"},
		map[string]any{"authType": "query", "parameterName": "app", "apiKey": "app-key-0123456789"},
		map[string]any{"authType": "mtls", "certificate": certificate, "privateKey": key},
	}})
	all := strings.Join(got, "\n")
	if len(got) != 3 || !strings.Contains(all, "u:password-0123456789") || !strings.Contains(all, "app-key-0123456789") ||
		!strings.Contains(all, strings.TrimSpace(certificate)) || !strings.Contains(all, strings.TrimSpace(key)) {
		t.Errorf("of a list the edge has %d credentials", len(got))
	}
	got, etag := set(service(as))
	if len(got) != 1 || !as.Valid("Bearer "+got[0]) || strings.Contains(got[0], oauthtest.ServiceSecret) {
		t.Fatalf("of a client the edge has %d credentials that are not access tokens", len(got))
	}
	w.later.Add(int64(5 * time.Minute)) // the server's tokens live five minutes
	doc, status := edge.credentials(etag)
	if status != 200 || len(doc.Credentials) != 1 || doc.Credentials[0].Value.Reveal() == got[0] || !as.Valid("Bearer "+doc.Credentials[0].Value.Reveal()) || doc.Credentials[0].Expires == 0 {
		t.Fatalf("after its time: %d, %d credentials", status, len(doc.Credentials))
	}
}
