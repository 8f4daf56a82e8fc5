package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// Addresses a node listens on unless told otherwise.
const (
	defaultListen      = "127.0.0.1:7300"
	defaultAdminListen = "127.0.0.1:7301"
	defaultDataDir     = "./sluice-data"
)

// maxConfigBytes of a configuration file: a hundred times what one needs.
const maxConfigBytes = 1 << 20

// environment is everything the program takes from its environment. Each value
// is overridden by its flag.
type environment struct {
	server  string         // SLUICE_SERVER: URL of the admin API
	token   secrets.Secret // SLUICE_TOKEN: API token for it
	ca      string         // SLUICE_CA: PEM file of a certificate authority to trust
	access  secrets.Secret // SLUICE_ACCESS_TOKEN: what opens toolset URLs
	context string         // SLUICE_CONTEXT: name of a context in the configuration file
	config  string         // SLUICE_CONFIG: configuration file
	dataDir string         // SLUICE_DATA_DIR
	// database is SLUICE_DATABASE: URL of a PostgreSQL database, with its password.
	database secrets.Secret
	// masterKey is SLUICE_MASTER_KEY: key-encryption keys as a value.
	masterKey secrets.Secret
	kek       string // SLUICE_KEK_COMMAND
	grace     string // SLUICE_PLUGIN_GRACE
	noColor   bool   // NO_COLOR set, or TERM=dumb
	color     bool   // FORCE_COLOR set
	home      string // HOME
	xdg       string // XDG_CONFIG_HOME
	appData   string // APPDATA, on Windows
	getenv    func(string) string
}

func readEnvironment(getenv func(string) string) environment {
	e := environment{
		server: getenv("SLUICE_SERVER"), ca: getenv("SLUICE_CA"), context: getenv("SLUICE_CONTEXT"), config: getenv("SLUICE_CONFIG"),
		dataDir: getenv("SLUICE_DATA_DIR"), home: getenv("HOME"), xdg: getenv("XDG_CONFIG_HOME"), appData: getenv("APPDATA"),
		noColor: getenv("NO_COLOR") != "" || getenv("TERM") == "dumb", color: getenv("FORCE_COLOR") != "",
		getenv: getenv,
	}
	e.token, e.access = secrets.New(getenv("SLUICE_TOKEN")), secrets.New(getenv("SLUICE_ACCESS_TOKEN"))
	e.database = secrets.New(getenv("SLUICE_DATABASE"))
	e.masterKey, e.kek = secrets.New(getenv("SLUICE_MASTER_KEY")), getenv("SLUICE_KEK_COMMAND")
	e.grace = getenv("SLUICE_PLUGIN_GRACE")
	if e.home == "" {
		e.home = getenv("USERPROFILE")
	}
	if e.xdg == "" && e.home != "" {
		e.xdg = filepath.Join(e.home, ".config")
	}
	return e
}

// secret reads the variable that the operator named, for --api-key-env.
func (e environment) secret(name string) (secrets.Secret, error) {
	v := e.getenv(name)
	if v == "" {
		return secrets.Secret{}, problem.New(problem.InvalidArgument, "the environment variable %s is not set", name).
			Fix("set it, or give the key with --api-key-file")
	}
	return secrets.New(v), nil
}

// config is the configuration file. Flags and the environment win over it.
type config struct {
	Context  string                   `yaml:"context"`
	Contexts map[string]contextConfig `yaml:"contexts"`

	Data                  string   `yaml:"data"`
	Database              string   `yaml:"database"`
	Blobs                 string   `yaml:"blobs"`
	Registry              string   `yaml:"registry"`
	KEKCommand            string   `yaml:"kek-command"`
	PluginRegistries      []string `yaml:"plugin-registries"`
	Listen                string   `yaml:"listen"`
	AdminListen           string   `yaml:"admin-listen"`
	PublicURL             string   `yaml:"public-url"`
	AdminPublicURL        string   `yaml:"admin-public-url"`
	AllowPrivateUpstreams []string `yaml:"allow-private-upstreams"`
	LogFormat             string   `yaml:"log-format"`
	LogLevel              string   `yaml:"log-level"`
	ShutdownTimeout       duration `yaml:"shutdown-timeout"`
	PluginGrace           duration `yaml:"plugin-grace"`

	MaxConnections           int `yaml:"max-connections"`
	MaxConnectionsPerAddress int `yaml:"max-connections-per-address"`

	MaxSpec specSize `yaml:"max-spec"`

	Suggest suggestConfig `yaml:"suggest"`
}

// suggestConfig names the model that may be asked for names and descriptions of
// tools, and where its key is; never the key.
type suggestConfig struct {
	URL     string `yaml:"url"`
	Model   string `yaml:"model"`
	KeyFile string `yaml:"key-file"`
}

// contextConfig names a server and where its token is; never the token.
type contextConfig struct {
	Server    string `yaml:"server"`
	TokenFile string `yaml:"token-file"`
	CA        string `yaml:"ca"` // PEM file of the authority of its certificate
}

// specSize is a number of MiB: how large a specification may be.
type specSize int

func (s *specSize) UnmarshalYAML(n *yaml.Node) error {
	if err := s.Set(n.Value); err != nil {
		return fmt.Errorf("line %d: max-spec: %w", n.Line, err)
	}
	return nil
}

// Set, String and Type make it the value of a flag.
func (s *specSize) Set(text string) error {
	const most = openapi.HardMaxBytes >> 20
	mib, err := strconv.Atoi(text)
	if err != nil || mib < 1 || mib > most {
		return fmt.Errorf("%q is not a number of MiB from 1 to %d", text, most)
	}
	*s = specSize(mib)
	return nil
}

func (s *specSize) String() string { return "" }
func (s *specSize) Type() string   { return "MiB" }

// specLimits are the limits of specifications that the flag or the configuration file
// gives.
func (a *app) specLimits() openapi.Limits {
	if mib := cmp.Or(a.flags.maxSpec, a.config.MaxSpec); mib != 0 {
		return openapi.LimitsFor(int(mib))
	}
	return openapi.Limits{}
}

// specLimitFlag declares --max-spec.
func (a *app) specLimitFlag(cmd *cobra.Command) {
	cmd.Flags().Var(&a.flags.maxSpec, "max-spec", fmt.Sprintf("largest specification, in MiB (default %d, at most %d)", openapi.DefaultMaxBytes>>20, openapi.HardMaxBytes>>20))
}

// pluginGrace is what plugins get beyond their deadlines.
func (a *app) pluginGrace() (time.Duration, error) {
	grace := time.Duration(a.config.PluginGrace)
	if v := a.env.grace; v != "" {
		var err error
		if grace, err = time.ParseDuration(v); err != nil {
			return 0, usagef("SLUICE_PLUGIN_GRACE: %s is not a duration such as 200ms", printable(v))
		}
	}
	if grace < 0 || grace > maxPluginGrace {
		return 0, usagef("plugins cannot be given %s beyond their deadlines: 0 to %s", grace, maxPluginGrace)
	}
	return grace, nil
}

// maxPluginGrace is more than a call may take.
const maxPluginGrace = time.Minute

type duration time.Duration

func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || v <= 0 {
		return fmt.Errorf("line %d: %q is not a duration such as 30s", n.Line, n.Value)
	}
	*d = duration(v)
	return nil
}

// loadConfig reads the first configuration file there is: the one that was named,
// ./sluice.yaml, the user's, the machine's. A named file must exist.
func loadConfig(named string, env environment) (config, error) {
	if named == "" {
		named = env.config
	}
	if named != "" {
		return readConfig(named)
	}
	candidates := []string{"sluice.yaml"}
	if env.xdg != "" {
		candidates = append(candidates, filepath.Join(env.xdg, "sluice", "config.yaml"))
	}
	candidates = append(candidates, "/etc/sluice/sluice.yaml")
	for _, path := range candidates {
		c, err := readConfig(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return c, err
	}
	return config{}, nil
}

func readConfig(path string) (config, error) {
	f, err := os.Open(path)
	if err != nil {
		return config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return config{}, fmt.Errorf("reading the configuration %s: %w", path, err)
	}
	if len(b) > maxConfigBytes {
		return config{}, problem.New(problem.InvalidArgument, "the configuration %s is larger than %d bytes", path, maxConfigBytes)
	}
	var c config
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return config{}, problem.New(problem.InvalidArgument, "the configuration %s cannot be used: %s", path,
			strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")).Because(err)
	}
	return c, nil
}

// first returns the first of its arguments that is not empty.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// readSecretFile reads a secret from a file, or from stdin for "-": the first
// line without its end.
func (a *app) readSecretFile(path string) (secrets.Secret, error) {
	text, err := a.readSecretText(path)
	if err != nil {
		return secrets.Secret{}, err
	}
	line, _, _ := strings.Cut(text.Reveal(), "\n")
	s := strings.TrimSpace(line)
	if s == "" {
		return secrets.Secret{}, problem.New(problem.InvalidArgument, "the key in %s is empty", path).Fix("put the key on the first line")
	}
	return secrets.New(s), nil
}

// readSecretText reads a secret of several lines from a file, or from stdin for
// "-".
func (a *app) readSecretText(path string) (secrets.Secret, error) {
	const most = 64 << 10 // a client certificate chain fits; a mistyped path to a disk image does not
	in := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return secrets.Secret{}, problem.New(problem.InvalidArgument, "the key file cannot be read: %s", err).Because(err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return secrets.Secret{}, fmt.Errorf("reading the key from %s: %w", path, err)
	}
	if len(b) > most {
		return secrets.Secret{}, problem.New(problem.InvalidArgument, "the key in %s is longer than %d bytes", path, most)
	}
	return secrets.New(string(b)), nil
}
