package process

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

const (
	// maxArgs and maxArgBytes bound a command: the longest known configurations of MCP
	// servers have some thirty arguments.
	maxArgs     = 256
	maxArgBytes = 32 << 10
	// maxNames bounds the environment variables that are passed on by name.
	maxNames = 64

	// DefaultMemory of all processes of a command, in bytes: a Node server takes 60 to
	// 150 MB, one with a browser a gigabyte.
	DefaultMemory = 2 << 30
	// minMemory is what any runtime needs to start.
	minMemory = 16 << 20
	// DefaultProcesses of a command: npx, a shell and a server with a browser fit.
	DefaultProcesses = 64
	// maxProcesses is the largest limit that can be asked for.
	maxProcesses = 4096
)

// Spec is a command that speaks MCP over stdio. It holds no secret: credentials come
// with the session.
type Spec struct {
	Argv []string `json:"argv"`
	// Dir is the working directory, absolute; "": the home directory of the node's user.
	Dir string `json:"dir,omitempty"`
	// Env are the names of variables of the node that the command gets, besides
	// [Inherited].
	Env []string `json:"env,omitempty"`
	// NetworkOff starts the command without a network (Linux only).
	NetworkOff bool `json:"networkOff,omitempty"`
	// Memory in bytes and Processes of the whole command; 0: the defaults.
	Memory    int64 `json:"memory,omitempty"`
	Processes int   `json:"processes,omitempty"`
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// Check reports the first fault of a command. It fails with [problem.InvalidArgument].
func (s *Spec) Check() error {
	size := 0
	for _, a := range s.Argv {
		size += len(a)
		if strings.ContainsRune(a, 0) {
			return invalid("an argument of the command has a NUL character")
		}
	}
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return invalid("the command is empty")
	case len(s.Argv) > maxArgs || size > maxArgBytes:
		return invalid("the command has more than %d arguments or %d KiB", maxArgs, maxArgBytes>>10)
	case strings.ContainsRune(s.Argv[0], '/') && !filepath.IsAbs(s.Argv[0]):
		return invalid("the program %.200q is neither a name nor an absolute path", s.Argv[0])
	case s.Dir != "" && (!filepath.IsAbs(s.Dir) || len(s.Dir) > 4096 || strings.ContainsRune(s.Dir, 0)):
		return invalid("the working directory is not an absolute path")
	case len(s.Env) > maxNames:
		return invalid("the command names more than %d environment variables", maxNames)
	case s.Memory != 0 && s.Memory < minMemory:
		return invalid("the memory limit is below %d MiB", minMemory>>20)
	case s.Processes < 0 || s.Processes > maxProcesses:
		return invalid("the limit of processes is not between 1 and %d", maxProcesses)
	}
	for _, name := range s.Env {
		if !envName.MatchString(name) {
			return invalid("%.100q is not the name of an environment variable: values are not given with the command", name)
		}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return problem.New(problem.InvalidArgument, format, args...).At("", 0, 0, "/source/mcp/command")
}

// ID names a command by its content: another command has another ID.
func (s *Spec) ID() string {
	c := *s
	c.Env = slices.Compact(slices.Sorted(slices.Values(s.Env)))
	b, err := json.Marshal(&c)
	if err != nil {
		panic("BUG: a command has no JSON form: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return "c" + hex.EncodeToString(sum[:16])
}

// URL is the address of the command at the node that has it.
func (s *Spec) URL() string { return registry.SchemeStdio + "://" + s.ID() }

// Inherited are the variables of the node's environment that every command gets: where
// programs, the home directory and temporary files are, and the language.
func Inherited() []string {
	return []string{"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"}
}

// Environ makes the environment of a command from the node's own and the credentials
// of a session. What is named and not set is left out. The credentials win.
func (s *Spec) Environ(node []string, credentials map[string]string) []string {
	names := slices.Concat(Inherited(), s.Env)
	var out []string
	for _, pair := range node {
		name, _, _ := strings.Cut(pair, "=")
		if _, set := credentials[name]; !set && slices.Contains(names, name) {
			out = append(out, pair)
		}
	}
	for name, value := range credentials {
		out = append(out, name+"="+value)
	}
	if s.NetworkOff { // package runners take what was installed
		out = append(out, "npm_config_offline=true", "UV_OFFLINE=1", "PIP_NO_INDEX=1")
	}
	slices.Sort(out)
	return out
}
