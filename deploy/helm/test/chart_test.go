package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write testdata/rendered")

const (
	folder = "../sluice"
	// release gives names that end as those of deploy/kubernetes do: prefix + "control".
	release, prefix = "xq", "xq-sluice-"
)

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func values(t *testing.T, name string) map[string]any {
	t.Helper()
	v, err := chartutil.ReadValuesFile(filepath.Join("testdata/values", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// render is what "helm template xq deploy/helm/sluice --namespace sluice --values …" prints, and
// the notes that an installation shows.
func render(t *testing.T, v map[string]any) (objects, notes string, err error) {
	t.Helper()
	c := load(t)
	all, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: release, Namespace: "sluice", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return "", "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", "", err
	}
	var out strings.Builder
	for _, name := range []string{"control", "edge", "postgres", "valkey", "networkpolicy"} {
		text := strings.TrimSpace(files["sluice/templates/"+name+".yaml"])
		if text != "" {
			fmt.Fprintf(&out, "---\n%s\n", text)
		}
		delete(files, "sluice/templates/"+name+".yaml")
	}
	notes = files["sluice/templates/NOTES.txt"]
	delete(files, "sluice/templates/NOTES.txt")
	for name, text := range files {
		if strings.TrimSpace(text) != "" && !strings.HasSuffix(name, "_helpers.tpl") {
			t.Errorf("%s is not compared with anything", name)
		}
	}
	return out.String(), notes, nil
}

// decode reads objects with the types of Kubernetes: a field that a type does not have, or has
// twice, or of another type, is an error.
func decode(t *testing.T, text string) map[string]runtime.Object {
	t.Helper()
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	out := map[string]runtime.Object{}
	for _, doc := range regexp.MustCompile(`(?m)^---$`).Split(text, -1) {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		o, kind, err := strict.Decode([]byte(doc), nil, nil)
		if err != nil {
			t.Errorf("%v\n%s", err, doc)
			continue
		}
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		name := kind.Kind + " " + m["metadata"].(map[string]any)["name"].(string)
		if out[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		out[name] = o
	}
	return out
}

func pods(objects map[string]runtime.Object) map[string]*corev1.PodTemplateSpec {
	out := map[string]*corev1.PodTemplateSpec{}
	for name, o := range objects {
		switch o := o.(type) {
		case *appsv1.Deployment:
			out[name] = &o.Spec.Template
		case *appsv1.StatefulSet:
			out[name] = &o.Spec.Template
		}
	}
	return out
}

var sets = []string{"default", "single", "tls", "ingress", "policy"}

// TestRender renders the chart with each set of values, reads what comes out with the types of
// Kubernetes, checks pods by the restricted security standard and names that must fit together,
// and compares with what was reviewed: go test ./... -update.
func TestRender(t *testing.T) {
	restricted, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		t.Run(set, func(t *testing.T) {
			text, notes, err := render(t, values(t, set))
			if err != nil {
				t.Fatal(err)
			}
			objects := decode(t, text)
			templates := pods(objects)
			if len(templates) < 2 {
				t.Errorf("%d workloads", len(templates))
			}
			for name, p := range templates {
				for _, r := range restricted.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &p.ObjectMeta, &p.Spec) {
					if !r.Allowed {
						t.Errorf("%s: %s: %s", name, r.ForbiddenReason, r.ForbiddenDetail)
					}
				}
				for _, c := range p.Spec.Containers {
					if c.SecurityContext == nil || c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
						t.Errorf("%s: the root of %s can be written to", name, c.Name)
					}
					if c.ReadinessProbe == nil || c.LivenessProbe == nil || c.Resources.Limits.Memory().IsZero() {
						t.Errorf("%s: %s lacks a probe or a limit of memory", name, c.Name)
					}
					for _, e := range c.Env {
						if regexp.MustCompile(`PASSWORD|KEY$`).MatchString(e.Name) && e.ValueFrom == nil {
							t.Errorf("%s: %s is a value and no reference", name, e.Name)
						}
					}
				}
			}
			for name := range objects {
				if n := strings.Fields(name)[1]; len(n) > 52 || !strings.HasPrefix(n, prefix) && set != "ingress" {
					t.Errorf("%s: its name does not begin with %s", name, prefix)
				}
			}
			golden(t, set+".yaml", text)
			golden(t, set+".txt", notes)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata/rendered", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is not what the chart renders; look at the difference and write it with: go test ./... -update\n%s", file, got)
	}
}

// TestAsKustomize: with the least values the chart makes the objects of the kustomizations, up to
// the prefix of names, labels and the policy of pulling.
func TestAsKustomize(t *testing.T) {
	for set, dir := range map[string]string{"default": "../../kubernetes/cluster", "single": "../../kubernetes"} {
		t.Run(set, func(t *testing.T) {
			k, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
			if err != nil {
				t.Fatal(err)
			}
			b, err := k.AsYaml()
			if err != nil {
				t.Fatal(err)
			}
			want := plain(t, decode(t, string(b)))
			delete(want, "Namespace sluice") // which "helm install --create-namespace" makes
			text, _, err := render(t, values(t, set))
			if err != nil {
				t.Fatal(err)
			}
			got := plain(t, decode(t, strings.ReplaceAll(text, prefix, "")))
			for name := range want {
				if got[name] == nil {
					t.Errorf("the chart has no %s", name)
				}
			}
			for name, o := range got {
				if w := want[name]; !reflect.DeepEqual(o, w) {
					a, _ := yaml.Marshal(o)
					b, _ := yaml.Marshal(w)
					t.Errorf("%s differs: the chart has\n%s\nand the kustomization\n%s", name, a, b)
				}
			}
		})
	}
}

// plain leaves out of objects what may differ.
func plain(t *testing.T, objects map[string]runtime.Object) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for name, o := range objects {
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		strip(m)
		out[name] = m
	}
	return out
}

func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"labels", "matchLabels", "namespace", "status", "imagePullPolicy"} {
			delete(v, key)
		}
		if s, ok := v["selector"].(map[string]any); ok && s["app.kubernetes.io/component"] != nil {
			v["selector"] = s["app.kubernetes.io/component"]
		}
		for _, child := range v {
			strip(child)
		}
	case []any:
		for _, child := range v {
			strip(child)
		}
	}
}

// TestSelectors: what selects pods selects those of one component, and none of another release.
func TestSelectors(t *testing.T) {
	for _, set := range sets {
		text, _, err := render(t, values(t, set))
		if err != nil {
			t.Fatal(err)
		}
		templates := pods(decode(t, text))
		selected := 0
		d := yaml.YAMLToJSON
		for _, doc := range strings.Split(text, "---\n") {
			var o struct {
				Kind     string
				Metadata struct{ Name string }
				Spec     struct{ Selector, PodSelector map[string]any }
			}
			b, err := d([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &o); err != nil {
				t.Fatal(err)
			}
			s := o.Spec.Selector
			if o.Kind == "NetworkPolicy" {
				s = o.Spec.PodSelector
			}
			if m, ok := s["matchLabels"].(map[string]any); ok {
				s = m
			}
			if s == nil {
				continue
			}
			selected++
			if s["app.kubernetes.io/instance"] != release {
				t.Errorf("%s %s selects pods of any release: %v", o.Kind, o.Metadata.Name, s)
			}
			n := 0
			for _, p := range templates {
				if !slices.ContainsFunc(slices.Collect(keys(s)), func(k string) bool { return p.Labels[k] != s[k] }) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%s %s selects the pods of %d workloads: %v", o.Kind, o.Metadata.Name, n, s)
			}
		}
		if selected < 4 {
			t.Errorf("%d selectors", selected)
		}
	}
}

// TestPolicies: each workload has a policy, and its ports are those that the pods have by
// these names; a name that no pod has would close the port for everybody.
func TestPolicies(t *testing.T) {
	text, _, err := render(t, values(t, "policy"))
	if err != nil {
		t.Fatal(err)
	}
	objects := decode(t, text)
	for workload, p := range pods(objects) {
		_, name, _ := strings.Cut(workload, " ")
		policy, ok := objects["NetworkPolicy "+name].(*networkingv1.NetworkPolicy)
		if !ok {
			t.Errorf("%s has no policy", workload)
			continue
		}
		have := map[string]bool{}
		for _, c := range p.Spec.Containers {
			for _, port := range c.Ports {
				have[port.Name] = true
			}
		}
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				if !have[port.Port.StrVal] {
					t.Errorf("%s has no port %q", workload, port.Port.StrVal)
				}
			}
		}
	}
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestLint lints the chart as "helm lint --strict" does.
func TestLint(t *testing.T) {
	for _, set := range append(sets, "") {
		v := map[string]any{}
		if set != "" {
			v = values(t, set)
		}
		for _, m := range lint.All(folder, v, "sluice", true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", set, m)
			}
		}
	}
}

// TestRefused: what cannot work is told by name, before anything is installed.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{``, `publicURL is empty: give the https:// URL at which callers reach the gateway, as with --set publicURL=https://tools.example.com`},
		{`{publicURL: "https://a"}`, `control.registry is empty: 2 control planes keep their artifacts in a registry that all reach`},
		{`{publicURL: "https://a", control: {registry: "oci://r/s"}, database: {bundled: false}}`, `more than one control plane needs a PostgreSQL`},
		{`{publicURL: "https://a", control: {replicas: 1}, database: {urlSecret: {name: a}}}`, `database: both bundled and urlSecret.name are set`},
		{`{publicURL: "https://a", control: {replicas: 1}, state: {urlSecret: {name: a}}}`, `state: both bundled and urlSecret.name are set`},
		{`{publicURL: "https://a", control: {replicas: 1}, edge: {behindProxy: ""}}`, `the gateway does not listen without TLS`},
		{`{publicURL: "https://a", control: {replicas: 1}, ingress: {enabled: true}}`, `ingress.hosts is empty`},
		{`{publicURL: "https://a", control: {replicas: 1}, edge: {autoscaling: {minReplicas: 11}}}`, `minReplicas is more than maxReplicas`},
		{`{publicURL: "tools.example.com"}`, `publicURL`},
		{`{publicURL: "https://a", control: {registry: "registry.example/sluice"}}`, `registry`},
		{`{publicURL: "https://a", control: {replicas: 0}}`, `replicas`},
		{`{publicURL: "https://a", control: {replicas: 10}}`, `replicas`},
		{`{publicURL: "https://a", controll: {}}`, `controll`},
		{`{publicURL: "https://a", edge: {extraArgs: ["listen=1"]}}`, `extraArgs`},
		{`{publicURL: "https://a", image: {digest: "sha256:12"}}`, `digest`},
		{`{publicURL: "https://a", networkPolicy: {gatewayFrom: [{}]}}`, `gatewayFrom`},
		{`{publicURL: "https://a", networkPolicy: {adminFrom: [{cidr: 10.0.0.0/8}]}}`, `cidr`},
	} {
		var v map[string]any
		if err := yaml.Unmarshal([]byte(c.values), &v); err != nil {
			t.Fatal(err)
		}
		if _, _, err := render(t, v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.values, err, c.want)
		}
	}
}

// TestSchema: values.yaml has each value that the schema knows, with a default.
func TestSchema(t *testing.T) {
	c := load(t)
	var schema map[string]any
	if err := json.NewDecoder(bytes.NewReader(c.Schema)).Decode(&schema); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	n := 0
	var walk func(at string, s map[string]any, v any)
	walk = func(at string, s map[string]any, v any) {
		props, _ := s["properties"].(map[string]any)
		if s["additionalProperties"] != false {
			return
		}
		for name, child := range props {
			if at == "" && name == "global" || name == "claims" { // that of parent charts, and of Kubernetes
				continue
			}
			n++
			m, _ := v.(map[string]any)
			value, there := m[name]
			if !there {
				t.Errorf("values.yaml has no %s%s", at, name)
			}
			walk(at+name+".", child.(map[string]any), value)
		}
	}
	walk("", schema, c.Values)
	if n < 60 {
		t.Errorf("the schema has %d values", n)
	}
}

// TestArchive: the archive of a release is the chart with the version of the program, and the
// same bytes every time.
func TestArchive(t *testing.T) {
	for version, want := range map[string]string{"v1.4.0": "1.4.0", "1.4.0-rc.1": "1.4.0-rc.1", "v1.4.0-12-gabc_dirty": "0.0.0-1.4.0-12-gabc-dirty", "devel": "0.0.0-devel"} {
		var all [2][]byte
		for i := range all {
			file := filepath.Join(t.TempDir(), "sluice-chart.tgz")
			cmd := exec.CommandContext(t.Context(), "../../chart.sh", version, file)
			cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var err error
			if all[i], err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(all[0], all[1]) {
			t.Error("two archives of one version differ")
		}
		c, err := loader.LoadArchive(bytes.NewReader(all[0]))
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", version, err)
		}
		if c.Metadata.Version != want || c.Metadata.AppVersion != version {
			t.Errorf("%s: the chart has version %s of program %s", version, c.Metadata.Version, c.Metadata.AppVersion)
		}
		if got, have := len(c.Raw), len(load(t).Raw); got != have {
			t.Errorf("the archive has %d files of %d", got, have)
		}
	}
}
