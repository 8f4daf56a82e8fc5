package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/tlsfiles"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// DefaultDataDir is the data directory of a node that is told none.
const DefaultDataDir = "./sluice-data"

// maxConfigBytes of a configuration file: a hundred times what one needs.
const maxConfigBytes = 1 << 20

// Environment is everything the program takes from its environment. Each value
// is overridden by its flag.
type Environment struct {
	Server  string         // SLUICE_SERVER: URL of the admin API
	Token   secrets.Secret // SLUICE_TOKEN: API token for it
	CA      string         // SLUICE_CA: PEM file of a certificate authority to trust
	Access  secrets.Secret // SLUICE_ACCESS_TOKEN: what opens toolset URLs
	Context string         // SLUICE_CONTEXT: name of a context in the configuration file
	config  string         // SLUICE_CONFIG: configuration file
	DataDir string         // SLUICE_DATA_DIR
	// Database is SLUICE_DATABASE: URL of a PostgreSQL database, with its password.
	Database secrets.Secret
	// State is SLUICE_STATE: URL of the Redis or Valkey server that nodes share, with its
	// password.
	State secrets.Secret
	// OIDCIssuer, OIDCClientID and OIDCSecret are SLUICE_OIDC_ISSUER, SLUICE_OIDC_CLIENT_ID and
	// SLUICE_OIDC_CLIENT_SECRET: the OpenID provider at which members sign in.
	OIDCIssuer, OIDCClientID string
	OIDCSecret               secrets.Secret
	// MasterKey is SLUICE_MASTER_KEY: key-encryption keys as a value.
	MasterKey secrets.Secret
	KEK       string // SLUICE_KEK_COMMAND
	Grace     string // SLUICE_PLUGIN_GRACE
	// TLS is SLUICE_TLS_CERT, SLUICE_TLS_KEY and SLUICE_TLS_CLIENT_CA: files of the gateway. AdminTLS is
	// SLUICE_ADMIN_TLS_CERT and SLUICE_ADMIN_TLS_KEY.
	TLS, AdminTLS tlsfiles.Files
	// Domains has SLUICE_ACME_CA, SLUICE_ACME_CA_ROOT, SLUICE_ACME_EMAIL and
	// SLUICE_DOMAIN_TARGET.
	Domains      Domains
	Proxies      []string // SLUICE_BEHIND_PROXY: separated by commas
	NotifySocket string   // NOTIFY_SOCKET: where systemd is told that a node serves
	NoColor      bool     // NO_COLOR set, or TERM=dumb
	Color        bool     // FORCE_COLOR set
	Home         string   // HOME
	XDG          string   // XDG_CONFIG_HOME
	AppData      string   // APPDATA, on Windows
	Getenv       func(string) string
}

// ReadEnvironment reads the variables; getenv is os.Getenv.
func ReadEnvironment(getenv func(string) string) Environment {
	e := Environment{
		Server: getenv("SLUICE_SERVER"), CA: getenv("SLUICE_CA"), Context: getenv("SLUICE_CONTEXT"), config: getenv("SLUICE_CONFIG"),
		DataDir: getenv("SLUICE_DATA_DIR"), Home: getenv("HOME"), XDG: getenv("XDG_CONFIG_HOME"), AppData: getenv("APPDATA"),
		NoColor: getenv("NO_COLOR") != "" || getenv("TERM") == "dumb", Color: getenv("FORCE_COLOR") != "",
		Getenv: getenv,
	}
	e.Token, e.Access = secrets.New(getenv("SLUICE_TOKEN")), secrets.New(getenv("SLUICE_ACCESS_TOKEN"))
	e.Database, e.State = secrets.New(getenv("SLUICE_DATABASE")), secrets.New(getenv("SLUICE_STATE"))
	e.OIDCIssuer, e.OIDCClientID, e.OIDCSecret = getenv("SLUICE_OIDC_ISSUER"), getenv("SLUICE_OIDC_CLIENT_ID"), secrets.New(getenv("SLUICE_OIDC_CLIENT_SECRET"))
	e.MasterKey, e.KEK = secrets.New(getenv("SLUICE_MASTER_KEY")), getenv("SLUICE_KEK_COMMAND")
	e.Grace, e.NotifySocket = getenv("SLUICE_PLUGIN_GRACE"), getenv("NOTIFY_SOCKET")
	if list := getenv("SLUICE_BEHIND_PROXY"); list != "" {
		e.Proxies = strings.Split(list, ",")
	}
	e.TLS = tlsfiles.Files{Certificate: getenv("SLUICE_TLS_CERT"), Key: getenv("SLUICE_TLS_KEY"), ClientCA: getenv("SLUICE_TLS_CLIENT_CA")}
	e.AdminTLS = tlsfiles.Files{Certificate: getenv("SLUICE_ADMIN_TLS_CERT"), Key: getenv("SLUICE_ADMIN_TLS_KEY")}
	e.Domains = Domains{CA: getenv("SLUICE_ACME_CA"), Root: getenv("SLUICE_ACME_CA_ROOT"), Email: getenv("SLUICE_ACME_EMAIL"), Target: getenv("SLUICE_DOMAIN_TARGET")}
	if e.Home == "" {
		e.Home = getenv("USERPROFILE")
	}
	if e.XDG == "" && e.Home != "" {
		e.XDG = filepath.Join(e.Home, ".config")
	}
	return e
}

// Secret reads the variable that the operator named, for --api-key-env.
func (e Environment) Secret(name string) (secrets.Secret, error) {
	v := e.Getenv(name)
	if v == "" {
		return secrets.Secret{}, problem.New(problem.InvalidArgument, "the environment variable %s is not set", name).
			Fix("set it, or give the key with --api-key-file")
	}
	return secrets.New(v), nil
}

// File is the configuration file. Flags and the environment win over it.
type File struct {
	Context  string             `yaml:"context"`
	Contexts map[string]Context `yaml:"contexts"`

	Data                  string   `yaml:"data"`
	Database              string   `yaml:"database"`
	State                 string   `yaml:"state"`
	Blobs                 string   `yaml:"blobs"`
	Registry              string   `yaml:"registry"`
	Cluster               bool     `yaml:"cluster"`
	Advertise             string   `yaml:"advertise"`
	KEKCommand            string   `yaml:"kek-command"`
	SharedKeys            string   `yaml:"shared-keys"`
	PluginRegistries      []string `yaml:"plugin-registries"`
	Listen                string   `yaml:"listen"`
	AdminListen           string   `yaml:"admin-listen"`
	PublicURL             string   `yaml:"public-url"`
	AdminPublicURL        string   `yaml:"admin-public-url"`
	RequestsListen        string   `yaml:"requests-listen"`
	RequestsURL           string   `yaml:"requests-url"`
	RequestsTLSCert       string   `yaml:"requests-tls-cert"`
	RequestsTLSKey        string   `yaml:"requests-tls-key"`
	BehindProxy           []string `yaml:"behind-proxy"`
	TLSCert               string   `yaml:"tls-cert"`
	TLSKey                string   `yaml:"tls-key"`
	TLSClientCA           string   `yaml:"tls-client-ca"`
	AdminTLSCert          string   `yaml:"admin-tls-cert"`
	AdminTLSKey           string   `yaml:"admin-tls-key"`
	AllowPrivateUpstreams []string `yaml:"allow-private-upstreams"`
	AllowCommands         bool     `yaml:"allow-commands"`
	NoInstallPage         bool     `yaml:"no-install-page"`
	Catalog               string   `yaml:"catalog"`
	Catalogs              []string `yaml:"catalogs"`
	CatalogKeys           []string `yaml:"catalog-keys"`
	LogFormat             string   `yaml:"log-format"`
	LogLevel              string   `yaml:"log-level"`
	ShutdownTimeout       Duration `yaml:"shutdown-timeout"`
	PluginGrace           Duration `yaml:"plugin-grace"`

	MaxConnections           int `yaml:"max-connections"`
	MaxConnectionsPerAddress int `yaml:"max-connections-per-address"`

	MaxSpec SpecSize `yaml:"max-spec"`

	Suggest Suggest `yaml:"suggest"`
	OpenID  OpenID  `yaml:"oidc"`

	Domains `yaml:",inline"`
}

// Domains are the settings of domains and of their certificates.
type Domains struct {
	CA         string   `yaml:"acme-ca"`
	Root       string   `yaml:"acme-ca-root"`
	Email      string   `yaml:"acme-email"`
	Challenges []string `yaml:"acme-challenges"`
	Command    string   `yaml:"acme-dns-command"`
	Listen     string   `yaml:"acme-http-listen"`
	Target     string   `yaml:"domain-target"`
	DNS        string   `yaml:"domain-dns"`
	TLS        bool     `yaml:"domain-tls"`
}

// OpenID names the OpenID provider at which members sign in to the console, and where the
// secret of its client is; never the secret.
type OpenID struct {
	Issuer      string            `yaml:"issuer"`
	ClientID    string            `yaml:"client-id"`
	SecretFile  string            `yaml:"client-secret-file"`
	Name        string            `yaml:"name"`
	GroupsClaim string            `yaml:"groups-claim"`
	Roles       map[string]string `yaml:"roles"` // by group
	Scopes      []string          `yaml:"scopes"`
}

// Suggest names the model that may be asked for names and descriptions of
// tools, and where its key is; never the key.
type Suggest struct {
	URL     string `yaml:"url"`
	Model   string `yaml:"model"`
	KeyFile string `yaml:"key-file"`
}

// Context names a server and where its token is; never the token.
type Context struct {
	Server    string `yaml:"server"`
	TokenFile string `yaml:"token-file"`
	CA        string `yaml:"ca"` // PEM file of the authority of its certificate
}

// SpecSize is a number of MiB: how large a specification may be.
type SpecSize int

// UnmarshalYAML reads the number as [SpecSize.Set] does.
func (s *SpecSize) UnmarshalYAML(n *yaml.Node) error {
	return s.Set(n.Value)
}

// Set reads a number of MiB from 1 to what the compiler takes; with String and Type it
// makes a SpecSize the value of a flag.
func (s *SpecSize) Set(text string) error {
	const most = openapi.HardMaxBytes >> 20
	mib, err := strconv.Atoi(text)
	if err != nil || mib < 1 || mib > most {
		return fmt.Errorf("%q is not a number of MiB from 1 to %d", text, most)
	}
	*s = SpecSize(mib)
	return nil
}

// String is empty: help shows no default.
func (s *SpecSize) String() string { return "" }

// Type is what help calls the value.
func (s *SpecSize) Type() string { return "MiB" }

// Duration is a time.Duration that is written as 30s or 5m; it is longer than nothing.
type Duration time.Duration

// UnmarshalYAML reads what time.ParseDuration reads.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a duration such as 30s", n.Value)
	}
	*d = Duration(v)
	return nil
}

// Load reads the first configuration file there is: the one that was named,
// ./sluice.yaml, the user's, the machine's. A named file must exist.
func Load(named string, env Environment) (File, error) {
	if named == "" {
		named = env.config
	}
	if named != "" {
		return readConfig(named)
	}
	candidates := []string{"sluice.yaml"}
	if env.XDG != "" {
		candidates = append(candidates, filepath.Join(env.XDG, "sluice", "config.yaml"))
	}
	candidates = append(candidates, "/etc/sluice/sluice.yaml")
	for _, path := range candidates {
		c, err := readConfig(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return c, err
	}
	return File{}, nil
}

func readConfig(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return File{}, fmt.Errorf("reading the configuration %s: %w", path, err)
	}
	if len(b) > maxConfigBytes {
		return File{}, problem.New(problem.InvalidArgument, "the configuration %s is larger than %d bytes", path, maxConfigBytes)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(b, &document); err != nil {
		return File{}, unusable(path, err, "it is not YAML: "+yamlText(err))
	}
	if faults := check(&document); len(faults) > 0 {
		return File{}, unusable(path, nil, strings.Join(faults, "\n  "))
	}
	var c File
	if err := document.Decode(&c); err != nil && document.Kind != 0 {
		return File{}, unusable(path, err, yamlText(err))
	}
	return c, nil
}

// unusable is the error about a configuration file.
func unusable(path string, cause error, what string) error {
	return problem.New(problem.InvalidArgument, "the configuration %s cannot be used: %s", path, what).
		Fix("its keys are in: sluice help environment").Because(cause)
}

// yamlText is what the parser says, without the package's own words.
func yamlText(err error) string {
	s := strings.Join(strings.Fields(err.Error()), " ")
	for _, prefix := range []string{"yaml: ", "go-yaml load error in parser "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return s
}

// DockerConfig is Docker's configuration file; "" without a home.
func (e Environment) DockerConfig() string {
	dir := e.Getenv("DOCKER_CONFIG")
	if dir == "" && e.Home != "" {
		dir = filepath.Join(e.Home, ".docker")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "config.json")
}
