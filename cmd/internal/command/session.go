package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// Session is one run of the program, as a command sees it: the terminal, the
// environment, the configuration file and the global flags.
type Session struct {
	terminal.Terminal
	Env     config.Environment
	Config  config.File // read before a command runs
	Flags   Flags
	Version string // of the program
	api     *client.Client
}

// Flags are the flags of every command that say which node it talks to.
type Flags struct {
	Context    string
	Server     string
	TokenFile  string
	CA         string
	ConfigFile string
	DataDir    string
	Timeout    time.Duration
	Verbose    bool
	MaxSpec    config.SpecSize // of the commands that read a specification
}

// Client is the admin API's client. It looks for the server and its token when it sends
// the first request, and once in a session: a token on stdin can be read only once.
func (s *Session) Client() *client.Client {
	if s.api == nil {
		s.api = client.Lazy(s.find)
	}
	return s.api
}

// ClientOptions are those of a client of this session, but for where the server is.
func (s *Session) ClientOptions(timeout time.Duration) client.Options {
	o := client.Options{Timeout: timeout, Say: s.Say, Agent: "sluice/" + s.Version}
	if s.Flags.Verbose {
		o.Trace = s.Err
	}
	if terminal.IsTerminal(s.Err) && !s.Quiet {
		o.Progress = func(text string) { fmt.Fprintf(s.Err, "  %s\n", text) } // not Say: it runs beside the command
	}
	return o
}

// find finds the server and its token: flag, environment, context of the
// configuration, the node of the data directory.
func (s *Session) find() (client.Options, error) {
	o := s.ClientOptions(s.Flags.Timeout)
	server, pinned, token, local, err := s.endpoint()
	if err != nil {
		return o, err
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return o, problem.New(problem.InvalidArgument, "the server %q is not an http or https URL", safehttp.Redact(server)).
			Fix("write it as http://127.0.0.1:7301")
	}
	if local && !safedial.Loopback(u.Hostname()) {
		return o, problem.New(problem.Forbidden, "the token of the local data directory is not sent to %s", u.Hostname()).
			Fix("give the server's own token with --token-file or SLUICE_TOKEN")
	}
	hc, err := s.HTTPClient()
	if err != nil {
		return o, err
	}
	if pinned != "" {
		client.Pin(hc, pinned)
	}
	o.Base, o.Token, o.HTTP = strings.TrimSuffix(server, "/"), token, hc
	return o, nil
}

// endpoint returns URL and token of the admin API; local says that the token is
// that of the data directory. pinned is the certificate of a node that was found there.
func (s *Session) endpoint() (server, pinned string, token secrets.Secret, local bool, err error) {
	chosen, err := s.ChosenContext()
	if err != nil {
		return "", "", token, false, err
	}
	server = cmp.Or(s.Flags.Server, s.Env.Server, chosen.Server)
	switch {
	case s.Flags.TokenFile != "":
		token, err = s.ReadSecretFile(s.Flags.TokenFile)
	case !s.Env.Token.IsZero():
		token = s.Env.Token
	case chosen.TokenFile != "":
		token, err = s.ReadSecretFile(chosen.TokenFile)
	default:
		local = true
		token, err = s.localFile(datadir.Token)
	}
	if err != nil {
		return "", "", token, false, err
	}
	if server == "" {
		if _, err := s.localFile(datadir.Endpoint); err != nil {
			return "", "", token, false, err
		}
		if server, pinned, err = s.ReadEndpoint(filepath.Join(s.DataDir(), datadir.Endpoint)); err != nil {
			return "", "", token, false, err
		}
	}
	return server, pinned, token, local, nil
}

// ChosenContext is the context of the configuration file that the command talks to.
func (s *Session) ChosenContext() (config.Context, error) {
	name := cmp.Or(s.Flags.Context, s.Env.Context, s.Config.Context)
	if name == "" {
		return config.Context{}, nil
	}
	c, ok := s.Config.Contexts[name]
	if !ok {
		return c, problem.New(problem.NotFound, "the configuration has no context %q", name)
	}
	return c, nil
}

// localFile reads a file that the node of the data directory wrote.
func (s *Session) localFile(name string) (secrets.Secret, error) {
	path := filepath.Join(s.DataDir(), name)
	secret, err := s.ReadSecretFile(path)
	if _, statErr := os.Stat(path); errors.Is(statErr, fs.ErrNotExist) {
		return secret, problem.New(problem.Unreachable, "no node has run in %s", s.DataDir()).
			Fix("start one with: sluice run   or name one with --server, --data or SLUICE_SERVER").Because(err)
	}
	return secret, err
}

// HTTPClient is the HTTP client of this program itself. It trusts the certificate
// authority that --ca, the environment or the context names, besides those of the machine.
func (s *Session) HTTPClient() (*http.Client, error) {
	file, err := s.caFile()
	if err != nil {
		return nil, err
	}
	return client.NewHTTPClient(file)
}

// caFile is the file of an authority to trust besides those of the machine; "" none.
func (s *Session) caFile() (string, error) {
	if name := cmp.Or(s.Flags.CA, s.Env.CA); name != "" {
		return name, nil
	}
	c, err := s.ChosenContext()
	return c.CA, err
}

// ReadEndpoint reads an endpoint file, and which certificate its node shows; pin is ""
// without TLS.
func (s *Session) ReadEndpoint(path string) (at, pin string, err error) {
	secret, err := s.ReadSecretFile(path)
	if err != nil {
		return "", "", err
	}
	if at = secret.Reveal(); !strings.HasPrefix(at, "https:") {
		return at, "", nil
	}
	p, err := s.ReadSecretFile(path + datadir.PinSuffix)
	if err != nil || !strings.HasPrefix(p.Reveal(), datadir.PinPrefix) {
		return at, "", nil //nolint:nilerr // of a node before this version: its certificate is verified as any
	}
	return at, p.Reveal(), nil
}

// SpecLimits are the limits of specifications that the flag or the configuration file
// gives.
func (s *Session) SpecLimits() openapi.Limits {
	if mib := cmp.Or(s.Flags.MaxSpec, s.Config.MaxSpec); mib != 0 {
		return openapi.LimitsFor(int(mib))
	}
	return openapi.Limits{}
}

// SpecLimitFlag declares --max-spec.
func (s *Session) SpecLimitFlag(cmd *cobra.Command) {
	cmd.Flags().Var(&s.Flags.MaxSpec, "max-spec", fmt.Sprintf("largest specification, in MiB (default %d, at most %d)", openapi.DefaultMaxBytes>>20, openapi.HardMaxBytes>>20))
}

// PluginGrace is what plugins get beyond their deadlines.
func (s *Session) PluginGrace() (time.Duration, error) {
	grace := time.Duration(s.Config.PluginGrace)
	if v := s.Env.Grace; v != "" {
		var err error
		if grace, err = time.ParseDuration(v); err != nil {
			return 0, exit.Usagef("SLUICE_PLUGIN_GRACE: %s is not a duration such as 200ms", terminal.Printable(v))
		}
	}
	if grace < 0 || grace > maxPluginGrace {
		return 0, exit.Usagef("plugins cannot be given %s beyond their deadlines: 0 to %s", grace, maxPluginGrace)
	}
	return grace, nil
}

// maxPluginGrace is more than a call may take.
const maxPluginGrace = time.Minute

// DataDir is where the node of this directory keeps its state.
func (s *Session) DataDir() string {
	return cmp.Or(s.Flags.DataDir, s.Env.DataDir, s.Config.Data, config.DefaultDataDir)
}

// Toolset reads the toolset that a command names, by slug or identifier. It returns the
// client, for more about it, and the toolset's ETag.
func (s *Session) Toolset(ctx context.Context, name string) (*client.Client, *view.ToolsetDetail, string, error) {
	c := s.Client()
	t, etag, err := c.Toolset(ctx, name)
	return c, t, etag, err
}

// ToolsetURL resolves a toolset or URL argument to a URL to connect to.
func (s *Session) ToolsetURL(ctx context.Context, arg string) (string, error) {
	if IsURL(arg) {
		return arg, nil
	}
	t, _, err := s.Client().Toolset(ctx, arg)
	if err != nil {
		return "", err
	}
	return t.URL, nil
}

// IsURL says whether an argument is the URL of something.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}
