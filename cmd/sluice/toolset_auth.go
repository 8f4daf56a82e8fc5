package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/internal/problem"
)

func (a *app) toolsetAuth() *cobra.Command {
	var f authFlags
	cmd := &cobra.Command{
		Use:   "auth TOOLSET [status | set | remove]",
		Short: "Show or set how calls to the upstream are authenticated",
		Example: `  sluice toolset auth petstore
  sluice toolset auth petstore set --auth header:X-Api-Key --api-key-file key.txt
  sluice toolset auth petstore set --auth header:Authorization:Bearer --api-key-env PET_TOKEN`,
		Args: between(1, 2, "a toolset and what to do"),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb := "status"
			if len(args) == 2 {
				verb = args[1]
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			t, _, err := c.toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			path := toolsetPath(t, "authentication")
			switch verb {
			case "status":
				return a.authStatus(t)
			case "set":
				in, err := f.request(a)
				if err != nil {
					return err
				}
				etag, err := c.do(cmd.Context(), apiCall{method: http.MethodGet, path: path})
				if p := problem.As(err); err != nil && (p == nil || p.Kind != problem.NotFound) {
					return err
				}
				var out admin.Authentication
				if _, err := c.do(cmd.Context(), apiCall{method: http.MethodPut, path: path, in: in, out: &out, ifMatch: etag}); err != nil {
					return err
				}
				a.say("  next   sluice toolset test %s", t.Slug)
				return a.object(out, func(w io.Writer) { fmt.Fprintf(w, "✓ %s sends %s\n", t.Slug, first(out.Preview, out.AuthType)) })
			case "remove":
				etag, err := c.do(cmd.Context(), apiCall{method: http.MethodGet, path: path})
				if err != nil {
					return err
				}
				if _, err := c.do(cmd.Context(), apiCall{method: http.MethodDelete, path: path, ifMatch: etag}); err != nil {
					return err
				}
				a.say("✓ %s sends no credential any more", t.Slug)
				return nil
			}
			return usagef("%q is not something to do with authentication\nusage: %s", verb, cmd.UseLine())
		},
	}
	f.register(cmd)
	return cmd
}

func (a *app) authStatus(t *admin.ToolsetDetail) error {
	v := struct {
		Authentication *admin.Authentication `json:"authentication"`
		Methods        []admin.AuthMethod    `json:"authenticationMethods"`
	}{t.Authentication, t.Methods}
	return a.object(v, func(w io.Writer) {
		fmt.Fprintf(w, "Configured   %s\n", authText(&t.Toolset))
		if t.Authentication != nil && t.Authentication.Preview != "" {
			fmt.Fprintf(w, "Sent         %s\n", t.Authentication.Preview)
		}
		fmt.Fprintf(w, "Specified    %s\n", methodsText(t.Methods))
		a.adviseAuth(w, &t.Toolset)
	})
}

// matchesAny says whether name matches one of the globs; * stands for anything.
func matchesAny(globs []string, name string) (bool, error) {
	for _, g := range globs {
		if g == "" {
			return false, usagef("an empty name matches nothing")
		}
		if globMatch(g, name) {
			return true, nil
		}
	}
	return false, nil
}

// globMatch matches * (any run) and ? (any one byte), without backtracking more
// than to the last star.
func globMatch(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
