package sign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Payload types: what a signature is for.
const (
	PayloadRelease = "application/vnd.sluice.release.v1+json"
	PayloadAccess  = "application/vnd.sluice.access.v1+json"
	PayloadAbsence = "application/vnd.sluice.absence.v1+json"
	// PayloadAuditHead is for the head of a workspace's audit log.
	PayloadAuditHead = "application/vnd.sluice.audit-head.v1+json"
)

const (
	// maxEnvelopeBytes is registry.MaxReleaseBytes in base64 and 64 KiB for the rest.
	maxEnvelopeBytes = registry.MaxReleaseBytes/3*4 + 64<<10
	// maxSignatures of one envelope: an old and a new key and a few to spare.
	maxSignatures = 16
	// maxEnvelopeDepth of what is read the fast way: ours nest three deep.
	maxEnvelopeDepth = 4
)

// envelope is the JSON form of DSSE v1 ("Envelope").
type envelope struct {
	Payload     []byte      `json:"payload"` // base64 in JSON
	PayloadType string      `json:"payloadType"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"` // base64 in JSON
}

// Sign returns the DSSE envelope of a payload, signed with the key and those that
// sign beside it ([OpenReleaseKey]). Equal arguments give equal bytes. It does not
// keep payload.
func Sign(k *Key, payloadType string, payload []byte) ([]byte, error) {
	signed := preAuth(payloadType, payload)
	e := &envelope{Payload: payload, PayloadType: payloadType, Signatures: []signature{{KeyID: k.id, Sig: ed25519.Sign(k.private, signed)}}}
	for _, older := range k.older {
		e.Signatures = append(e.Signatures, signature{KeyID: older.id, Sig: ed25519.Sign(older.private, signed)})
	}
	return json.Marshal(e)
}

// preAuth is PAE of DSSE v1: "DSSEv1" SP LEN(type) SP type SP LEN(body) SP body.
func preAuth(payloadType string, payload []byte) []byte {
	b := make([]byte, 0, 32+len(payloadType)+len(payload))
	b = append(b, "DSSEv1 "...)
	b = strconv.AppendInt(b, int64(len(payloadType)), 10)
	b = append(b, ' ')
	b = append(b, payloadType...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(payload)), 10)
	b = append(b, ' ')
	return append(b, payload...)
}

// Verify returns the payload of an envelope that a key of the trust set signed
// for the payload type, and that key's id. Nothing of an envelope that fails is
// returned. All refusals are *problem.Error of kind invalid_release. It does not
// keep env.
func Verify(env []byte, payloadType string, trust *Trust) (payload []byte, keyID string, err error) {
	e, err := parseEnvelope(env)
	if err != nil {
		return nil, "", err
	}
	if e.PayloadType != payloadType {
		return nil, "", problem.New(problem.InvalidRelease, "the envelope is for %.80q, not for %q", e.PayloadType, payloadType)
	}
	signed := preAuth(e.PayloadType, e.Payload)
	known := false
	for _, s := range e.Signatures {
		// The id is only a hint for choosing the key (DSSE, "keyid").
		key, ok := trust.keys[s.KeyID]
		if !ok {
			continue
		}
		known = true
		if len(s.Sig) == ed25519.SignatureSize && ed25519.Verify(key.public, signed, s.Sig) {
			return e.Payload, s.KeyID, nil
		}
	}
	if !known {
		return nil, "", problem.New(problem.InvalidRelease, "no trusted key signed it: %s", signerNames(e.Signatures)).
			Fix("check that this node follows the right control plane")
	}
	return nil, "", problem.New(problem.InvalidRelease, "the signature does not match the content")
}

func parseEnvelope(env []byte) (*envelope, error) {
	fail := func(format string, args ...any) (*envelope, error) {
		return nil, problem.New(problem.InvalidRelease, format, args...)
	}
	if len(env) == 0 {
		return fail("the envelope is empty")
	}
	if len(env) > maxEnvelopeBytes {
		return fail("the envelope has %d bytes, the limit is %d", len(env), maxEnvelopeBytes)
	}
	// DSSE says that unknown fields are to be ignored; nothing but the three
	// fields is signed or used.
	e, ok := plainEnvelope(env)
	if !ok {
		e = envelope{}
		d := json.NewDecoder(bytes.NewReader(env))
		if err := d.Decode(&e); err != nil {
			return fail("the envelope cannot be read: %.200s", err.Error())
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return fail("the envelope has trailing data")
		}
	}
	switch {
	case len(e.Signatures) == 0:
		return fail("the envelope is not signed")
	case len(e.Signatures) > maxSignatures:
		return fail("the envelope has %d signatures, the limit is %d", len(e.Signatures), maxSignatures)
	}
	return &e, nil
}

// plainEnvelope reads an envelope that is written as ours are, much faster than
// encoding/json does: the payload of a large release is one long string. It fails on
// every other, which may be good too.
func plainEnvelope(env []byte) (e envelope, ok bool) {
	doc, err := jsonscan.Parse(env, maxEnvelopeDepth)
	if err != nil {
		return e, false
	}
	seen := 0
	for it := doc.Members(); it.Next(); seen++ {
		switch string(it.Key()) {
		case "payload":
			text, ok := it.Value().Plain()
			if !ok || e.Payload != nil {
				return e, false
			}
			e.Payload = make([]byte, base64.StdEncoding.DecodedLen(len(text)))
			n, err := base64.StdEncoding.Decode(e.Payload, text)
			if err != nil {
				return e, false
			}
			e.Payload = e.Payload[:n]
		case "payloadType":
			text, ok := it.Value().Plain()
			if !ok || e.PayloadType != "" {
				return e, false
			}
			e.PayloadType = string(text)
		case "signatures":
			if e.Signatures != nil || json.Unmarshal(it.Value().Raw(), &e.Signatures) != nil {
				return e, false
			}
		default: // or a field that encoding/json takes for one of ours
			return e, false
		}
	}
	return e, seen == 3
}

func signerNames(sigs []signature) string {
	var b []byte
	for i, s := range sigs {
		if i == 3 {
			b = append(b, " …"...)
			break
		}
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendQuoteToASCII(b, s.KeyID[:min(len(s.KeyID), 16)])
	}
	return string(b)
}
