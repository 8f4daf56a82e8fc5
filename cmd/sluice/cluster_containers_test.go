package main

import (
	"context"
	"crypto/tls"
	"database/sql" //nolint:depguard // a database of its own for each cluster
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"
	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/cmd/internal/systemd"
	"github.com/sluicegate/sluice/internal/freeport"
)

// pod is one of the containers of a cluster, started on this machine.
type pod struct {
	deployed
	data    string
	address string // of the admin API or the operations listener
}

// startPod starts a container: exactly its arguments and environment, with folders in the
// place of its volumes, and with addresses of this machine.
func startPod(t *testing.T, c *container, root, data string, swap map[string]string, env map[string]string) *pod {
	t.Helper()
	p := &pod{data: data}
	for _, a := range c.args {
		flag, value, _ := strings.Cut(a, "=")
		for from, to := range swap {
			value = strings.ReplaceAll(value, from, to)
		}
		switch {
		case strings.HasPrefix(value, "/"):
			if !slices.ContainsFunc(append(c.mounts, "/data"), func(at string) bool { return value == at || strings.HasPrefix(value, at+"/") }) {
				t.Errorf("nothing is mounted at %s of %s", value, flag)
			}
			if value = root + value; flag == "--data" {
				value = data
			}
		case flag == "--admin-listen" || flag == "--ops-listen" || flag == "--listen":
			value = net.JoinHostPort("0.0.0.0", freeLocalPort(t))
		}
		if flag == "--admin-listen" && env["ADMIN"] != "" {
			value = net.JoinHostPort("0.0.0.0", env["ADMIN"])
		}
		if flag == "--admin-listen" || flag == "--ops-listen" {
			_, port, err := net.SplitHostPort(value)
			if err != nil {
				t.Fatal(err)
			}
			p.address = "127.0.0.1:" + port
		}
		if value != "" {
			flag += "=" + value
		}
		p.args = append(p.args, flag)
	}
	for name := range c.env {
		if value, given := env[name]; given {
			p.env = append(p.env, name+"="+value)
		}
	}
	p.dir = root
	p.start(t)
	return p
}

// end ends a container, which may have told more than that it is ready.
func (p *pod) end(t *testing.T) {
	t.Helper()
	p.cancel()
	for said := range p.states {
		if said == exited {
			t.Errorf("it did not tell that it stops: %v\n%s", <-p.err, p.said)
			return
		}
		if strings.Contains(said, systemd.Stopping) {
			<-p.err // it was told to stop
			return
		}
	}
}

func freeLocalPort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(freeport.Addr(t))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestClusterContainers starts what compose's cluster.yaml and the Kubernetes objects of the
// cluster start, on a real PostgreSQL and a real registry: one control plane leads, the other
// follows, an edge that knows both joins with a token and is ready, and stays so when the
// leader ends.
func TestClusterContainers(t *testing.T) {
	database := storetest.Postgres(t)
	artifacts := httptest.NewServer(ggcr.New(ggcr.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))))
	t.Cleanup(artifacts.Close)
	at := strings.TrimPrefix(artifacts.URL, "http://")
	for i, c := range []struct {
		name                string
		all                 map[string]container
		first, second, edge string
		hosts               [2]string
		registry            string
	}{
		{"compose", composeContainers(t, "cluster.yaml"), "compose control-1", "compose control-2", "compose edge-1", [2]string{"control-1:7301", "control-2:7301"}, "registry:5000/sluice?insecure=true"},
		{"kubernetes", kubernetesContainers(t, "cluster"), "kubernetes control", "kubernetes control", "kubernetes edge", [2]string{"control-0.control:7301", "control-1.control:7301"}, "registry.example/sluice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if want := map[string]int{"compose": 4, "kubernetes": 2}[c.name]; len(c.all) != want {
				t.Fatalf("%d containers, want %d", len(c.all), want)
			}
			root := t.TempDir()
			for _, dir := range []string{"tls", "ca", "join", "docker", "keys", "run/secrets"} {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			writeCertificate(t, filepath.Join(root, "ca/control.pem"), filepath.Join(root, "tls/control.key"))
			writeCertificate(t, filepath.Join(root, "tls/tls.crt"), filepath.Join(root, "tls/tls.key"))
			copyFile(t, filepath.Join(root, "tls/tls.crt"), filepath.Join(root, "ca/ca.crt"))
			// The keys as the documentation makes them.
			for _, command := range []string{
				"openssl genpkey -algorithm ed25519 -out release.key", "openssl genpkey -algorithm ed25519 -out workspace.key", "openssl rand -base64 32 >master.key",
			} {
				cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
				cmd.Dir = filepath.Join(root, "keys")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Skipf("%s: %v %s", command, err, out)
				}
			}
			db := strings.Replace(database, "/postgres?", fmt.Sprintf("/cluster%d?", i), 1)
			createDatabase(t, database, fmt.Sprintf("cluster%d", i))
			ports := [2]string{freeLocalPort(t), freeLocalPort(t)}
			swap := map[string]string{
				c.hosts[0]: "127.0.0.1:" + ports[0], c.hosts[1]: "127.0.0.1:" + ports[1], c.registry: at + "/" + c.name + "?insecure=true",
				"$(POD_NAME).control:7301": "127.0.0.1:" + ports[0],
			}
			first, second, edge := c.all[c.first], c.all[c.second], c.all[c.edge]
			one := startPod(t, &first, root, filepath.Join(root, "one"), swap, map[string]string{"SLUICE_DATABASE": db, "ADMIN": ports[0]})
			swap["$(POD_NAME).control:7301"] = "127.0.0.1:" + ports[1]
			two := startPod(t, &second, root, filepath.Join(root, "two"), swap, map[string]string{"SLUICE_DATABASE": db, "ADMIN": ports[1]})
			defer two.end(t)
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
			probe := func(url string) string {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				req.Host = "localhost" // as kubelet does
				res, err := client.Do(req)
				if err != nil {
					return err.Error()
				}
				defer res.Body.Close()
				b, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				return res.Status + " " + string(b)
			}
			await(t, "the second one follows", func() bool {
				text := probe("https://" + two.address + "/readyz?verbose")
				return strings.HasPrefix(text, "200") && strings.Contains(text, "leader 127.0.0.1:"+ports[0])
			})

			token := runSluice(t, root, "edge", "token", "--data", one.data)
			for _, file := range []string{"join/join-token", "run/secrets/join-token"} {
				if err := os.WriteFile(filepath.Join(root, file), []byte(token), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(root, "join/metrics-token"), []byte("a token that nobody is asked about\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			e := startPod(t, &edge, root, filepath.Join(root, "edge"), swap, map[string]string{"SLUICE_STATE": "redis://127.0.0.1:1"})
			defer e.end(t)
			ready := func() bool { return strings.HasPrefix(probe("http://"+e.address+"/readyz"), "200") }
			await(t, "the edge is ready", ready)
			one.end(t)
			await(t, "the second one leads", func() bool {
				return strings.HasPrefix(probe("https://"+two.address+"/readyz?verbose"), "200") && strings.Contains(probe("https://"+two.address+"/readyz?verbose"), "store")
			})
			if !ready() {
				t.Error("the edge is not ready when the leader ends")
			}
			await(t, "the edge is connected to the second one", func() bool {
				return strings.Contains(runSluice(t, root, "edge", "list", "--data", two.data, "-o", "json"), `"connected"`)
			})
		})
	}
}

// TestClusterEdge: the edges of the cluster are those of a single control plane but for what
// they ask, and the control planes are as many as edges know, by names that are theirs.
func TestClusterEdge(t *testing.T) {
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join("../../deploy/kubernetes", name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var planes string
	strip := func(name string) any {
		var o map[string]any
		text := regexp.MustCompile(`(?m)^ *- --control-plane=.*\n`).ReplaceAllStringFunc(string(read(name)), func(s string) string { planes = s; return "" })
		if err := yaml.Unmarshal([]byte(strings.Split(text, "\n---\n")[0]), &o); err != nil {
			t.Fatal(err)
		}
		c := o["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
		delete(c, "env")
		return fmt.Sprint(o) + strings.SplitN(text, "\n---\n", 2)[1]
	}
	if one, many := strip("edge.yaml"), strip("cluster/edge.yaml"); one != many {
		t.Errorf("edge.yaml and cluster/edge.yaml are different:\n%v\n%v", one, many)
	}
	for _, o := range kubernetesObjects(t, "cluster") {
		if o.Kind != "StatefulSet" || o.Metadata.Name != "control" {
			continue
		}
		if strings.Count(planes, "https://") != o.Spec.Replicas {
			t.Errorf("edges know %s, of %d control planes", planes, o.Spec.Replicas)
		}
		for i := range o.Spec.Replicas {
			if name := fmt.Sprintf("https://control-%d.%s:7301", i, o.Spec.ServiceName); !strings.Contains(planes, name) {
				t.Errorf("edges do not know %s", name)
			}
		}
		for _, s := range kubernetesObjects(t, "cluster") {
			if s.Kind == "Service" && s.Metadata.Name == o.Spec.ServiceName && s.Spec.ClusterIP != "None" {
				t.Error("the service of the control planes gives them no names: it is not headless")
			}
		}
	}
	// Where kubectl is, what it makes of both folders.
	t.Run("kubectl", func(t *testing.T) {
		kubectl, err := exec.LookPath("kubectl")
		if err != nil {
			t.Skip("no kubectl: the kustomizations were not rendered")
		}
		for dir, want := range map[string]int{".": 7, "cluster": 13} {
			out, err := exec.CommandContext(t.Context(), kubectl, "kustomize", filepath.Join("../../deploy/kubernetes", dir)).CombinedOutput()
			if err != nil {
				t.Errorf("kubectl kustomize %s: %v\n%s", dir, err, out)
			}
			if n := strings.Count(string(out), "\napiVersion:") + 1; n != want || strings.Contains(string(out), "image: sluice\n") {
				t.Errorf("%s: %d objects, want %d, with the tag of the image", dir, n, want)
			}
		}
	})
}

// runSluice runs the program and returns what it prints.
func runSluice(t *testing.T, dir string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	program, err := exec.LookPath("sluice")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sluice %v: %v\n%s", args, err, said.String())
	}
	return string(out)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// await waits for what takes a moment.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func createDatabase(t *testing.T, server, name string) {
	t.Helper()
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
}
