package clientcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/clientconfig"
	"github.com/sluicegate/sluice/internal/problem"
)

// maxFileBytes is more than any application's configuration has.
const maxFileBytes = 16 << 20

// executable is the path of this program, for applications that start it.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	return path, nil
}

// installation is one change of an application's configuration file.
type installation struct {
	clients
	app     application
	at      clientconfig.Endpoint
	toolset *view.ToolsetDetail // nil: only its URL is known, or its name
	ttl     time.Duration       // of an access token that is made. 0: forever
}

// configuration is an application's file as it was read.
type configuration struct {
	path string // where symbolic links end
	text []byte
	perm fs.FileMode // of the file, or of a new one
}

// read reads the file of the application; one that is not there is empty.
func (c *installation) read() (*configuration, error) {
	f := &configuration{path: c.app.file(c.Env), perm: 0o600}
	if target, err := filepath.EvalSymlinks(f.path); err == nil {
		f.path = target
	}
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, c.failed("reading", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, c.failed("reading", err)
	}
	f.perm = info.Mode().Perm()
	if f.text, err = io.ReadAll(io.LimitReader(file, maxFileBytes+1)); err == nil && len(f.text) > maxFileBytes {
		err = errFileTooLarge
	}
	if err != nil {
		return nil, c.failed("reading", err)
	}
	return f, nil
}

func (c *installation) failed(doing string, err error) error {
	return fmt.Errorf("%s the configuration of %s: %w", doing, c.app.Title, err)
}

// refused is the error of a file that cannot be changed.
func (c *installation) refused(f *configuration, err error) error {
	return problem.New(problem.Conflict, "%s was not changed: %s", f.path, err).
		Fix("correct the file, or change it by hand: sluice client %s --for %s", c.at.Name, c.app.Name).Because(err)
}

// install writes a toolset into an application's configuration file: shows the change,
// asks, and keeps the old file as .bak. It is another program's file.
func (c *installation) install(ctx context.Context) error {
	f, err := c.read()
	if err != nil {
		return err
	}
	changed, err := formatOf(f.path).install(f.text, c.app.Entry(c.at))
	if err != nil {
		return c.refused(f, err)
	}
	if bytes.Equal(f.text, changed) {
		c.Say("%s has it already.", f.path)
		c.sayWhatIsMissing()
		return nil
	}
	fmt.Fprint(c.Err, lineDiff(f.path, string(f.text), string(changed)))
	if err := c.Confirm(ctx, "Write this to "+f.path+"?"); err != nil {
		return err
	}
	token, err := c.makeToken(ctx, f)
	if err != nil {
		return err
	}
	if err := c.write(f, changed, token); err != nil {
		if token != nil { // which nobody will know
			err = errors.Join(err, c.Client().Delete(ctx, c.tokenPath(token.ID), nil))
		}
		return err
	}
	c.Say("✓ %s is in %s. Restart %s.", c.at.Name, f.path, c.app.Title)
	switch {
	case token != nil && c.app.Secret == clientconfig.FromBridge:
		c.Say("✓ its access token is in %s", c.at.Headers)
	case token != nil && c.app.Secret == clientconfig.FromPrompt:
		fmt.Fprintf(c.Err, "✓ %s asks for the access token, which is shown only now: %s\n", c.app.Title, token.Token)
	case token != nil:
		fmt.Fprintf(c.Err, "✓ access token, which is shown only now; set it where %s is started:\n  export %s=%s\n", c.app.Title, c.at.Variable, token.Token)
	}
	if token == nil || !c.at.Token {
		c.sayWhatIsMissing()
	}
	return nil
}

// write keeps the old file and writes the new one, and the token of sluice connect.
func (c *installation) write(f *configuration, changed []byte, token *access.CreatedAccessToken) error {
	if token != nil && c.app.Secret == clientconfig.FromBridge {
		if err := os.MkdirAll(filepath.Dir(c.at.Headers), 0o700); err != nil {
			return fmt.Errorf("keeping the access token: %w", err)
		}
		if err := atomicfile.Write(c.at.Headers, []byte("Authorization: Bearer "+token.Token+"\n"), 0o600); err != nil {
			return fmt.Errorf("keeping the access token: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return c.failed("writing", err)
	}
	if len(f.text) > 0 {
		if err := atomicfile.Write(f.path+".bak", f.text, f.perm); err != nil {
			return c.failed("keeping the old file of", err)
		}
	}
	if err := atomicfile.Write(f.path, changed, f.perm); err != nil {
		return c.failed("writing", err)
	}
	return nil
}

// uninstall takes a toolset out of an application's configuration file and revokes the
// access token that install made. A file that has only changed by the installation gets
// its old bytes back.
func (c *installation) uninstall(ctx context.Context) error {
	f, err := c.read()
	if err != nil {
		return err
	}
	format, e := formatOf(f.path), c.app.Entry(c.at)
	changed, err := format.uninstall(f.text, e)
	if err != nil {
		return c.refused(f, err)
	}
	if bytes.Equal(f.text, changed) {
		c.Say("%s is not in %s.", c.at.Name, f.path)
		return c.revokeToken(ctx, f)
	}
	old, err := os.ReadFile(f.path + ".bak")
	restored := false
	if err == nil {
		if again, err := format.install(old, e); err == nil && bytes.Equal(again, f.text) {
			changed, restored = old, true
		}
	}
	fmt.Fprint(c.Err, lineDiff(f.path, string(f.text), string(changed)))
	if err := c.Confirm(ctx, "Write this to "+f.path+"?"); err != nil {
		return err
	}
	rest, err := format.decode(changed)
	switch {
	case restored:
		if err := atomicfile.Write(f.path, changed, f.perm); err != nil {
			return c.failed("writing", err)
		}
		err = os.Remove(f.path + ".bak")
	case err == nil && prune(rest) == nil && !hasComment(changed):
		err = os.Remove(f.path)
	default:
		err = c.write(f, changed, nil)
	}
	if err != nil {
		return c.failed("writing", err)
	}
	c.Say("✓ %s is no longer in %s. Restart %s.", c.at.Name, f.path, c.app.Title)
	return c.revokeToken(ctx, f)
}

func hasComment(doc []byte) bool { return bytes.ContainsAny(doc, "#/") }

// sayWhatIsMissing tells what the application still needs.
func (c *installation) sayWhatIsMissing() {
	for _, line := range c.app.missing(c.at, c.Env.Getenv) {
		c.Say("! %s", line)
	}
}

// tokenName is the name of the access token that install makes for a file: one for each
// machine, application and file.
func (c *installation) tokenName(f *configuration) string {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	path, err := filepath.Abs(f.path)
	if err != nil {
		path = f.path
	}
	name := c.app.Name + " " + host + ":" + path
	const most = 200 // characters of a name
	if r := []rune(name); len(r) > most {
		name = string(r[:most])
	}
	return name
}

func (c *installation) tokenPath(id string) string {
	return client.ToolsetPath(c.toolset, "access-tokens") + "/" + url.PathEscape(id)
}

// tokens are the valid access tokens that install made for a file.
func (c *installation) tokens(ctx context.Context, f *configuration) ([]access.AccessToken, error) {
	all, _, err := client.All[access.AccessToken](ctx, c.Client(), client.ToolsetPath(c.toolset, "access-tokens"))
	if err != nil {
		return nil, err
	}
	var made []access.AccessToken
	for _, t := range all {
		if t.Status == "valid" && t.Name == c.tokenName(f) {
			made = append(made, t)
		}
	}
	return made, nil
}

// makeToken makes an access token when the application needs one and there is none that it
// refers to; nil: it made none.
func (c *installation) makeToken(ctx context.Context, f *configuration) (*access.CreatedAccessToken, error) {
	if !c.at.Token || c.toolset == nil || c.app.Secret == clientconfig.NoSecret {
		return nil, nil
	}
	if c.app.Secret == clientconfig.FromVariable && c.Env.Getenv(c.at.Variable) != "" {
		return nil, nil
	}
	if _, err := os.Stat(c.at.Headers); err == nil && c.app.Secret == clientconfig.FromBridge {
		return nil, nil
	}
	known, err := c.tokens(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(known) > 0 && c.app.Secret != clientconfig.FromBridge { // somebody was shown it
		return nil, nil
	}
	in := access.NewAccessToken{Name: c.tokenName(f)}
	if c.ttl > 0 {
		in.ExpiresAt = time.Now().Add(c.ttl).UTC().Truncate(time.Second)
	}
	out := new(access.CreatedAccessToken)
	if err := c.Client().Post(ctx, client.ToolsetPath(c.toolset, "access-tokens"), in, out); err != nil {
		return nil, err
	}
	return out, nil
}

// revokeToken revokes what makeToken made, and removes the file it is in.
func (c *installation) revokeToken(ctx context.Context, f *configuration) error {
	if c.app.Secret == clientconfig.FromBridge {
		if err := os.Remove(c.at.Headers); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the access token: %w", err)
		}
	}
	if c.toolset == nil {
		return nil
	}
	made, err := c.tokens(ctx, f)
	if err != nil {
		return err
	}
	for _, t := range made {
		if err := c.Client().Delete(ctx, c.tokenPath(t.ID), nil); err != nil {
			return err
		}
		c.Say("✓ its access token …%s is revoked", t.Last4)
	}
	return nil
}

// lineDiff shows what changes: removed and added lines between the common
// beginning and end, with three lines around them.
func lineDiff(path, before, after string) string {
	a, b := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	const around = 3
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", path, path)
	for _, l := range a[max(head-around, 0):head] {
		out.WriteString("  " + l + "\n")
	}
	for _, l := range a[head : len(a)-tail] {
		out.WriteString("- " + l + "\n")
	}
	for _, l := range b[head : len(b)-tail] {
		out.WriteString("+ " + l + "\n")
	}
	for _, l := range a[len(a)-tail : min(len(a)-tail+around, len(a))] {
		out.WriteString("  " + l + "\n")
	}
	return secretLine.ReplaceAllString(out.String(), "${1}••••")
}

// secretLine finds credentials that stand in a configuration file beside what changes:
// they are not shown. References to variables and prompts are.
var secretLine = regexp.MustCompile(`(?i)((?:bearer |[\w-]*(?:token|key|secret|passw)[\w-]*"?\s*[:=]\s*)"?)(?:[^"'$\s{\[}\]][^"'$\n{}]{5,})`)

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
