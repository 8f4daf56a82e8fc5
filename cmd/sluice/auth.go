package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sluicegate/sluice/internal/secrets"
)

// authFlags say how calls to the upstream are authenticated. A key is never the
// value of a flag: command lines are visible to other users and kept in histories.
type authFlags struct {
	spec            string
	keyFile, keyEnv string
}

func (f *authFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.spec, "auth", "", "authentication: header:NAME[:PREFIX], bearer, basic:USER, none")
	cmd.Flags().StringVar(&f.keyFile, "api-key-file", "", "file with the key, - for stdin")
	cmd.Flags().StringVar(&f.keyEnv, "api-key-env", "", "name of the environment variable with the key")
}

func (f *authFlags) given() bool { return f.spec != "" || f.keyFile != "" || f.keyEnv != "" }

// authRequest is admin.SetAuth as it goes over the wire.
type authRequest struct {
	AuthType     string `json:"authType"`
	HeaderName   string `json:"headerName,omitempty"`
	HeaderPrefix string `json:"headerPrefix,omitempty"`
	APIKey       string `json:"apiKey,omitempty"`
	Token        string `json:"token,omitempty"`
	Username     string `json:"username,omitempty"`
	Password     string `json:"password,omitempty"`
}

// request makes the authentication configuration; it asks for the key where
// nothing else gives it.
func (f *authFlags) request(a *app) (authRequest, error) {
	r, err := parseAuth(f.spec)
	if err != nil || r.AuthType == "none" {
		return r, err
	}
	key, err := f.key(a)
	if err != nil {
		return r, err
	}
	switch r.AuthType {
	case "bearer":
		r.Token = key.Reveal()
	case "basic":
		r.Password = key.Reveal()
	default:
		r.APIKey = key.Reveal()
	}
	return r, nil
}

// parseAuth reads the value of --auth. A prefix that ends in a letter or digit
// gets the blank that separates a scheme from its value: "Bearer" is meant as
// "Bearer ". To send none, end it with something else, as in "key=".
func parseAuth(spec string) (authRequest, error) {
	kind, rest, _ := strings.Cut(spec, ":")
	switch kind {
	case "header":
		name, prefix, _ := strings.Cut(rest, ":")
		if name == "" {
			return authRequest{}, usagef("--auth header needs the name of the header: header:NAME[:PREFIX]")
		}
		if prefix != "" {
			if last := prefix[len(prefix)-1]; last >= 'a' && last <= 'z' || last >= 'A' && last <= 'Z' || last >= '0' && last <= '9' {
				prefix += " "
			}
		}
		return authRequest{AuthType: "header", HeaderName: name, HeaderPrefix: prefix}, nil
	case "bearer", "none":
		if rest != "" {
			return authRequest{}, usagef("--auth %s takes nothing after it; the key comes from --api-key-file", kind)
		}
		return authRequest{AuthType: kind}, nil
	case "basic":
		if rest == "" {
			return authRequest{}, usagef("--auth basic needs the user name: basic:USER")
		}
		return authRequest{AuthType: "basic", Username: rest}, nil
	case "":
		return authRequest{}, usagef("a key needs --auth, for example --auth header:Authorization:Bearer")
	}
	return authRequest{}, usagef("--auth %s is not known; use header:NAME[:PREFIX], bearer, basic:USER or none", printable(kind))
}

func (f *authFlags) key(a *app) (secrets.Secret, error) {
	switch {
	case f.keyFile != "" && f.keyEnv != "":
		return secrets.Secret{}, usagef("--api-key-file and --api-key-env cannot both be given")
	case f.keyFile != "":
		return a.readSecretFile(f.keyFile)
	case f.keyEnv != "":
		return a.env.secret(f.keyEnv)
	}
	return a.promptSecret("Key: ")
}

// promptSecret asks for a secret without showing it.
func (a *app) promptSecret(question string) (secrets.Secret, error) {
	in, ok := a.stdin.(*os.File)
	if a.flags.noInput || !ok || !isTerminal(in) {
		return secrets.Secret{}, usagef("a key is needed: give it with --api-key-file FILE|- or --api-key-env NAME")
	}
	fmt.Fprint(a.stderr, question)
	b, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(a.stderr)
	if err != nil {
		return secrets.Secret{}, fmt.Errorf("reading the key: %w", err)
	}
	s := strings.TrimSpace(string(b))
	if s == "" {
		return secrets.Secret{}, usagef("the key is empty")
	}
	return secrets.New(s), nil
}

// confirm asks before something that cannot be taken back. Without a terminal it
// must have been answered with --yes.
func (a *app) confirm(question string) error {
	if a.flags.yes {
		return nil
	}
	if a.flags.noInput || !isTerminal(a.stdin) {
		return usagef("%s Answer with --yes", question)
	}
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	line, err := newLineReader(a.stdin, 1<<10).next()
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if answer := strings.ToLower(string(line)); answer != "y" && answer != "yes" {
		fmt.Fprintln(a.stderr, "Nothing was changed.")
		return silentError(exitFailed)
	}
	return nil
}
