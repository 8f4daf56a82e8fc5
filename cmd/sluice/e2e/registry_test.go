//go:build interop

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	oras "oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/file"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// registryTools runs programs of others against a node's registry.
type registryTools struct {
	*node

	t     *testing.T
	dir   string
	token string
}

// withTools starts a node whose registry the programs are logged in to.
func withTools(t *testing.T) *registryTools {
	t.Helper()
	x := &registryTools{node: startSluice(t, "--demo"), t: t, dir: t.TempDir()}
	b, err := os.ReadFile(filepath.Join(x.data, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	x.token = strings.TrimSpace(string(b))
	login := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, x.admin, base64.StdEncoding.EncodeToString([]byte("any:"+x.token)))
	if err := os.WriteFile(filepath.Join(x.dir, "config.json"), []byte(login), 0o600); err != nil {
		t.Fatal(err)
	}
	// A plugin with a golden case.
	x.run(binary, "plugin", "new", "mask", "--lang", "c")
	code, err := os.ReadFile("../../../testdata/plugins/mask/mask.wasm")
	if err == nil {
		err = os.WriteFile(filepath.Join(x.dir, "mask", "mask.wasm"), code, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// run runs a program in x.dir and returns what it printed.
func (x *registryTools) run(command ...string) string {
	x.t.Helper()
	out, err := x.try(command...)
	if err != nil {
		x.t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return out
}

func (x *registryTools) try(command ...string) (string, error) {
	x.t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		x.t.Fatalf("%s is not here; make interop installs it", command[0])
	}
	c := exec.CommandContext(x.t.Context(), command[0], command[1:]...)
	c.Dir = x.dir
	c.Env = append(os.Environ(), "DOCKER_CONFIG="+x.dir, "REGISTRY_AUTH_FILE="+filepath.Join(x.dir, "config.json"), "COSIGN_PASSWORD=x", "HOME="+x.dir)
	out, err := c.CombinedOutput()
	return string(out), err
}

func (x *registryTools) sluice(args ...string) string {
	x.t.Helper()
	return x.run(append(append([]string{binary}, args...), x.flags()...)...)
}

// pushMask pushes the plugin with oras's own library, which the oras program runs.
func (x *registryTools) pushMask(repository, tag string) (digest string) {
	x.t.Helper()
	ctx := x.t.Context()
	fs, err := file.New(x.dir)
	if err != nil {
		x.t.Fatal(err)
	}
	defer fs.Close()
	layer, err := fs.Add(ctx, "mask.wasm", "application/wasm", filepath.Join(x.dir, "mask", "mask.wasm"))
	if err != nil {
		x.t.Fatal(err)
	}
	text := fmt.Appendf(nil, `{"architecture":"wasm","os":"wasip1","layerDigests":[%q]}`, layer.Digest)
	if err := os.WriteFile(filepath.Join(x.dir, "wasm-config.json"), text, 0o600); err != nil {
		x.t.Fatal(err)
	}
	config, err := fs.Add(ctx, "wasm-config.json", "application/vnd.wasm.config.v0+json", "")
	if err != nil {
		x.t.Fatal(err)
	}
	m, err := oras.PackManifest(ctx, fs, oras.PackManifestVersion1_1, "application/vnd.sluice.plugin.v1",
		oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}, ConfigDescriptor: &config})
	if err != nil {
		x.t.Fatal(err)
	}
	if err := fs.Tag(ctx, m, tag); err != nil {
		x.t.Fatal(err)
	}
	repo, err := remote.NewRepository(x.admin + "/" + repository)
	if err != nil {
		x.t.Fatal(err)
	}
	repo.PlainHTTP = true
	repo.Client = &auth.Client{Credential: auth.StaticCredential(x.admin, auth.Credential{Username: "any", Password: x.token})}
	if _, err := oras.Copy(ctx, fs, tag, repo, tag, oras.DefaultCopyOptions); err != nil {
		x.t.Fatalf("oras: %v", err)
	}
	return string(m.Digest)
}

// TestRegistryTools: crane, skopeo and oras pull what we pushed, and we use what they
// pushed.
func TestRegistryTools(t *testing.T) {
	x := withTools(t)
	x.sluice("plugin", "key", "add", x.key(), "--name", "Ada")
	var page struct {
		Items []struct {
			Slug      string
			Connector struct{ Name string }
		}
	}
	x.api(t, "/v1/toolsets", &page)
	repository := "default/connectors/demo"
	tags := strings.Fields(x.run("crane", "ls", "--insecure", x.admin+"/"+repository))
	if len(tags) == 0 {
		t.Fatalf("crane lists no tag of %s; toolsets %+v", repository, page)
	}
	ref := x.admin + "/" + repository + ":" + tags[0]
	var m struct {
		ArtifactType string
		Layers       []struct{ MediaType, Digest string }
	}
	if err := json.Unmarshal([]byte(x.run("crane", "manifest", "--insecure", ref)), &m); err != nil || m.ArtifactType != "application/vnd.sluice.plugin.v1" || len(m.Layers) != 1 {
		t.Fatalf("crane manifest: %+v, %v", m, err)
	}
	if out := x.run("crane", "blob", "--insecure", x.admin+"/"+repository+"@"+m.Layers[0].Digest); !strings.HasPrefix(out, "\x00asm") {
		t.Errorf("crane blob: %.20q", out)
	}
	x.run("crane", "validate", "--insecure", "--fast", "--remote", ref)

	x.run("skopeo", "copy", "--src-tls-verify=false", "docker://"+ref, "oci:layout:v1")
	if blobs, err := filepath.Glob(filepath.Join(x.dir, "layout", "blobs", "sha256", "*")); err != nil || len(blobs) != 3 {
		t.Errorf("skopeo copied %v, %v", blobs, err)
	}

	// What oras pushes is published; what it is, skopeo and crane carry to another place
	// and it is the same there.
	digest := x.pushMask("default/plugins/mask", "0.1.0")
	x.sluice("plugin", "sign", "mask", "--key", "ada.key")
	x.sluice("plugin", "publish", "mask", "--oci", "mask:0.1.0")
	from := x.admin + "/default/plugins/mask"
	x.run("skopeo", "copy", "--src-tls-verify=false", "--dest-tls-verify=false", "docker://"+from+":0.1.0", "docker://"+x.admin+"/default/plugins/by-skopeo:1")
	x.run("crane", "copy", "--insecure", from+":0.1.0", x.admin+"/default/plugins/by-crane:1")
	for _, name := range []string{"by-skopeo", "by-crane"} {
		if got := strings.TrimSpace(x.run("crane", "digest", "--insecure", x.admin+"/default/plugins/"+name+":1")); got != digest {
			t.Errorf("%s: %s, want %s", name, got, digest)
		}
	}
}

// key makes a publisher's key and returns the file of its public half.
func (x *registryTools) key() string {
	x.t.Helper()
	x.run(binary, "plugin", "sign", "mask", "--key", "ada.key")
	return "ada.key.pub"
}

// TestSignedRelease: what "make release COSIGN_KEY=FILE" signs is verified by cosign and by
// OpenSSL, and one changed byte is not.
func TestSignedRelease(t *testing.T) {
	x := withTools(t)
	x.run("cosign", "generate-key-pair")
	sign, err := filepath.Abs("../../../deploy/sign.sh")
	if err != nil {
		t.Fatal(err)
	}
	x.run("bash", "-c", "mkdir r && cd r && echo program >sluice-linux-amd64 && sha256sum sluice-* >SHA256SUMS")
	x.run(sign, "cosign.key", "r")
	const verify = "cd r && cosign verify-blob --insecure-ignore-tlog --key cosign.pub --signature SHA256SUMS.sig SHA256SUMS && " +
		"openssl dgst -sha256 -verify cosign.pub -signature <(base64 -d SHA256SUMS.sig) SHA256SUMS"
	x.run("bash", "-c", verify)
	x.run("bash", "-c", "echo >>r/SHA256SUMS")
	if out, err := x.try("bash", "-c", verify); err == nil {
		t.Errorf("a changed list is verified: %s", out)
	}
	if out, err := x.try(sign, "none.key", "r"); err == nil || !strings.Contains(out, "none.key, which COSIGN_KEY names, is no file") {
		t.Errorf("a missing key: %v, %s", err, out)
	}
}

// TestCosign: cosign verifies what we signed, and we publish what cosign signed, with
// a key and without a transparency log, in both its forms.
func TestCosign(t *testing.T) {
	for _, form := range []string{"tag", "bundle"} {
		t.Run("ours-"+form, func(t *testing.T) {
			x := withTools(t)
			x.sluice("plugin", "key", "add", x.key(), "--name", "Ada")
			x.sluice("plugin", "publish", "mask", "--key", "ada.key", "--cosign", form)
			verify := []string{"cosign", "verify", "--key", "ada.key.pub", "--insecure-ignore-tlog", "--allow-http-registry", x.admin + "/default/plugins/mask:0.1.0"}
			if form == "bundle" { // with a key nothing of a trusted root is used, but there has to be one
				const root = `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`
				if err := os.WriteFile(filepath.Join(x.dir, "root.json"), []byte(root), 0o600); err != nil {
					t.Fatal(err)
				}
				verify = append(verify, "--new-bundle-format", "--trusted-root", "root.json")
			}
			if out := x.run(verify...); !strings.Contains(out, "The signatures were verified against the specified public key") {
				t.Errorf("%s: %s", form, out)
			}
			x.run("cosign", "generate-key-pair", "--output-key-prefix", "eve")
			verify[3] = "eve.pub"
			if out, err := x.try(verify...); err == nil {
				t.Errorf("%s: another key verifies it: %s", form, out)
			}
		})
	}
	for _, form := range []string{"--new-bundle-format=false", "--new-bundle-format"} {
		t.Run("theirs"+form, func(t *testing.T) {
			x := withTools(t)
			x.run("cosign", "generate-key-pair")
			x.sluice("plugin", "key", "add", "cosign.pub", "--name", "Ada")
			digest := x.pushMask("default/plugins/mask", "0.1.0")
			publish := append([]string{binary, "plugin", "publish", "--oci", "mask:0.1.0", "--cases", "mask/testdata"}, x.flags()...)
			if out, err := x.try(publish...); err == nil {
				t.Fatalf("published without a signature: %s", out)
			}
			x.run("cosign", "sign", "--key", "cosign.key", "--tlog-upload=false", "--allow-http-registry", "--yes", form, x.admin+"/default/plugins/mask@"+digest)
			if out := x.run(publish...); !strings.Contains(out, "signed by  Ada") {
				t.Error(out)
			}
		})
	}
}
