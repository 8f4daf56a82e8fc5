package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/cmd/internal/config"
)

// container is one of compose.yaml or of a pod of the Kubernetes objects.
type container struct {
	args   []string
	env    map[string]string
	mounts []string          // folders and files that are there besides the image's
	probes map[string]string // path of a probe → port it asks
	ports  []string          // that others reach
	https  bool
}

// composeContainers reads the services of a compose file that run Sluice.
func composeContainers(t *testing.T, file string) map[string]container {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../deploy/compose", file))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Services map[string]struct {
			Image            string
			Command, Volumes []string
			Secrets, Ports   []string
			Environment      map[string]string
			DependsOn        any `yaml:"depends_on"`
		}
		Secrets, Volumes map[string]any
	}
	if err := yaml.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]container{}
	for name, s := range all.Services {
		c := container{env: s.Environment}
		var needs []string
		switch on := s.DependsOn.(type) {
		case map[string]any:
			needs = slices.Collect(maps.Keys(on))
		case []any:
			for _, n := range on {
				needs = append(needs, n.(string))
			}
		}
		for _, n := range needs {
			if _, there := all.Services[n]; !there {
				t.Errorf("%s depends on %s, which is not there", name, n)
			}
		}
		for _, v := range s.Volumes {
			from, at, _ := strings.Cut(v, ":")
			at, _, _ = strings.Cut(at, ":")
			c.mounts = append(c.mounts, at)
			if strings.HasPrefix(from, ".") {
				if _, err := os.Stat(filepath.Join("../../deploy/compose", from)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			} else if _, known := all.Volumes[from]; !known {
				t.Errorf("%s mounts the unknown volume %s", name, from)
			}
		}
		for _, v := range s.Secrets {
			if c.mounts = append(c.mounts, "/run/secrets/"+v); all.Secrets[v] == nil {
				t.Errorf("%s has the unknown secret %s", name, v)
			}
		}
		if !strings.Contains(s.Image, "sluice:") {
			continue
		}
		for _, a := range s.Command {
			c.args = append(c.args, regexp.MustCompile(`\$\{\w+:-(.*)\}`).ReplaceAllString(a, "$1"))
		}
		for _, p := range s.Ports {
			c.ports = append(c.ports, p[strings.LastIndex(p, ":")+1:])
		}
		out["compose "+name] = c
	}
	return out
}

// probe is one that kubelet makes.
type probe struct {
	HTTPGet struct{ Path, Port, Scheme string } `yaml:"httpGet"`
}

// kubernetesObject is what a test needs of a Kubernetes object.
type kubernetesObject struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Replicas             int
		ServiceName          string `yaml:"serviceName"`
		ClusterIP            string `yaml:"clusterIP"`
		Selector             any
		ScaleTargetRef       struct{ Kind, Name string }                `yaml:"scaleTargetRef"`
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
		Ports                []struct {
			TargetPort string `yaml:"targetPort"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Volumes    []struct{ Name string }
				Containers []struct {
					Image string
					Args  []string
					Env   []struct{ Name, Value string }
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
					VolumeMounts []struct {
						Name      string
						MountPath string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
					StartupProbe   probe `yaml:"startupProbe"`
					LivenessProbe  probe `yaml:"livenessProbe"`
					ReadinessProbe probe `yaml:"readinessProbe"`
				}
			}
		}
	}
}

// kubernetesObjects reads what the kustomization of a folder names.
func kubernetesObjects(t *testing.T, dir string) (out []kubernetesObject) {
	t.Helper()
	read := func(name string, to any) *yaml.Decoder {
		b, err := os.ReadFile(filepath.Join("../../deploy/kubernetes", dir, name))
		if err != nil {
			t.Fatal(err)
		}
		d := yaml.NewDecoder(bytes.NewReader(b))
		if to != nil {
			if err := d.Decode(to); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	var k struct{ Resources []string }
	read("kustomization.yaml", &k)
	for _, name := range k.Resources {
		out = append(out, objectsIn(t, name, read(name, nil))...)
	}
	return out
}

// kubernetesContainers checks that the objects fit together and returns the containers.
func kubernetesContainers(t *testing.T, dir string) map[string]container {
	t.Helper()
	return containersOf(t, "kubernetes", kubernetesObjects(t, dir))
}

// chartContainers are those that the Helm chart makes of a set of values, as deploy/helm/test
// rendered it.
func chartContainers(t *testing.T, set string) map[string]container {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../deploy/helm/test/testdata/rendered", set+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return containersOf(t, "helm "+set, objectsIn(t, set, yaml.NewDecoder(bytes.NewReader(b))))
}

func objectsIn(t *testing.T, name string, d *yaml.Decoder) (out []kubernetesObject) {
	t.Helper()
	for {
		var o kubernetesObject
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, o)
	}
}

func containersOf(t *testing.T, kind string, objects []kubernetesObject) map[string]container {
	t.Helper()
	out, ports, workloads := map[string]container{}, []string{}, []string{}
	for _, o := range objects {
		pod := o.Spec.Template.Spec
		for _, c := range pod.Containers {
			ours := regexp.MustCompile(`(^|/)sluice([:@]|$)`).MatchString(c.Image)
			workloads = append(workloads, o.Kind+" "+o.Metadata.Name, o.Spec.Template.Metadata.Labels["app.kubernetes.io/component"])
			var names, numbers, volumes []string
			for _, p := range c.Ports {
				names, numbers = append(names, p.Name), append(numbers, strconv.Itoa(p.ContainerPort))
			}
			for _, v := range pod.Volumes {
				volumes = append(volumes, v.Name)
			}
			for _, v := range o.Spec.VolumeClaimTemplates {
				volumes = append(volumes, v.Metadata.Name)
			}
			ports = append(ports, names...)
			r := container{args: c.Args, probes: map[string]string{}, env: map[string]string{}, ports: numbers}
			for _, e := range c.Env {
				r.env[e.Name] = e.Value
			}
			for _, m := range c.VolumeMounts {
				if r.mounts = append(r.mounts, m.MountPath); !slices.Contains(volumes, m.Name) {
					t.Errorf("%s %s has no volume %s", o.Kind, o.Metadata.Name, m.Name)
				}
			}
			for _, probe := range []probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				p := probe.HTTPGet
				if p.Path == "" && !ours {
					continue // it asks in another way
				}
				if r.probes[p.Path], r.https = p.Port, p.Scheme == "HTTPS"; !slices.Contains(names, p.Port) {
					t.Errorf("%s %s has no port %s for %s", o.Kind, o.Metadata.Name, p.Port, p.Path)
				}
			}
			if ours {
				out[kind+" "+o.Metadata.Name] = r
			}
		}
	}
	for _, o := range objects {
		if to := o.Spec.ScaleTargetRef; to.Name != "" && !slices.Contains(workloads, to.Kind+" "+to.Name) {
			t.Errorf("%s %s scales %v", o.Kind, o.Metadata.Name, to)
		}
		for _, p := range o.Spec.Ports {
			if !slices.Contains(ports, p.TargetPort) {
				t.Errorf("%s %s leads to the unknown port %s", o.Kind, o.Metadata.Name, p.TargetPort)
			}
		}
		selector, _ := o.Spec.Selector.(map[string]any)
		if labels, ok := selector["matchLabels"].(map[string]any); ok {
			selector = labels
		}
		if component, ok := selector["app.kubernetes.io/component"].(string); !slices.Contains([]string{"Namespace", "Ingress", "NetworkPolicy"}, o.Kind) && o.Spec.ScaleTargetRef.Name == "" && (!ok || !slices.Contains(workloads, component)) {
			t.Errorf("%s %s selects %v", o.Kind, o.Metadata.Name, selector)
		}
	}
	return out
}

// writeCertificate writes a certificate for localhost and its key.
func writeCertificate(t *testing.T, certificate, key string) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost", "control"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, priv.Public(), priv)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestContainerNames: each variable that a container is given is one that the program reads, and
// each port that others reach is one that its command line opens.
func TestContainerNames(t *testing.T) {
	all := composeContainers(t, "compose.yaml")
	for _, more := range []map[string]container{
		composeContainers(t, "cluster.yaml"), kubernetesContainers(t, ""), containersOf(t, "kubernetes cluster", kubernetesObjects(t, "cluster")),
	} {
		maps.Copy(all, more)
	}
	sets, err := filepath.Glob("../../deploy/helm/test/testdata/rendered/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		maps.Copy(all, chartContainers(t, strings.TrimSuffix(filepath.Base(set), ".yaml")))
	}
	read := map[string]bool{}
	config.ReadEnvironment(func(name string) string { read[name] = true; return "" })
	variables, ports := 0, 0
	for name, c := range all {
		for v := range c.env {
			if strings.HasPrefix(v, "SLUICE_") {
				if variables++; !read[v] {
					t.Errorf("%s sets %s, which nothing reads", name, v)
				}
			}
		}
		var open []string
		for _, a := range c.args {
			if flag, value, _ := strings.Cut(a, "="); strings.HasSuffix(flag, "listen") {
				open = append(open, value[strings.LastIndex(value, ":")+1:])
			}
		}
		for _, p := range c.ports {
			if ports++; !slices.Contains(open, p) {
				t.Errorf("%s has port %s, and its command line opens %v", name, p, open)
			}
		}
	}
	if len(all) < 18 || variables < 14 || ports < 18 {
		t.Errorf("%d containers, %d variables, %d ports", len(all), variables, ports)
	}
}

// TestContainers starts what compose.yaml, the Kubernetes objects and an edge of the Helm chart
// start: exactly their arguments, with directories in the place of their volumes and other ports.
// With fewer values the chart makes what the Kubernetes objects are (deploy/helm/test).
func TestContainers(t *testing.T) {
	all := composeContainers(t, "compose.yaml")
	maps.Copy(all, kubernetesContainers(t, ""))
	chart := chartContainers(t, "tls")
	all["helm tls edge"] = chart["helm tls xq-sluice-edge"]
	if len(all) != 6 || len(chart) != 2 {
		t.Fatalf("%d containers, want 3 of compose, 2 of Kubernetes and one of Helm, which has %d", len(all), len(chart))
	}
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range []string{"data", "tls", "gateway-tls", "ca", "join", "run/secrets"} {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			writeCertificate(t, filepath.Join(root, "ca/control.pem"), filepath.Join(root, "tls/control.key"))
			writeCertificate(t, filepath.Join(root, "tls/tls.crt"), filepath.Join(root, "tls/tls.key"))
			writeCertificate(t, filepath.Join(root, "gateway-tls/tls.crt"), filepath.Join(root, "gateway-tls/tls.key"))
			writeCertificate(t, filepath.Join(root, "ca/ca.crt"), filepath.Join(root, "ca/none"))
			for _, file := range []string{"join/join-token", "join/metrics-token", "run/secrets/join-token", "run/secrets/metrics-token"} {
				if err := os.WriteFile(filepath.Join(root, file), []byte("a token that nobody is asked about\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var args []string
			for _, a := range c.args {
				flag, value, _ := strings.Cut(a, "=")
				if strings.HasPrefix(value, "/") {
					if !slices.ContainsFunc(append(c.mounts, "/data"), func(at string) bool { return value == at || strings.HasPrefix(value, at+"/") }) {
						t.Errorf("nothing is mounted at %s of %s", value, flag)
					}
					value = root + value
				}
				if value != "" {
					flag += "="
				}
				if strings.HasSuffix(flag, "listen=") { // another port, of the same interface
					host, _, err := net.SplitHostPort(value)
					if err != nil {
						t.Fatal(err)
					}
					value = net.JoinHostPort(host, "0")
				}
				args = append(args, flag+value)
			}
			d := &deployed{args: args, dir: root}
			d.start(t)
			defer d.stop(t)
			address := "operations"
			if slices.Contains(args, "--role=control") {
				address = "endpoint"
			}
			b, err := os.ReadFile(filepath.Join(root, "data", address))
			if err != nil {
				t.Fatal(err)
			}
			url := strings.TrimSpace(string(b))
			if https := strings.HasPrefix(url, "https://"); len(c.probes) > 0 && https != c.https {
				t.Errorf("the probes speak TLS: %v, %s does: %v", c.https, url, https)
			}
			// As kubelet does.
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
			for path := range c.probes {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				req.Host = "localhost"
				res, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				// An edge that has not joined is alive and not ready.
				if ready := res.StatusCode == http.StatusOK; ready != (path == "/livez" || address == "endpoint") {
					t.Errorf("%s answers %s", path, res.Status)
				}
			}
		})
	}
}
