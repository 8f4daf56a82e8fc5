package main

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tlsfiles"
)

// liveTarget is where a node answers whether it is alive.
type liveTarget struct{ url, pin string }

// live asks /livez of the node, whatever its role is. tree makes the commands of a program.
func (a *app) live(ctx context.Context, tree func(*app) *cobra.Command) error {
	at, err := a.findLive(tree)
	if err != nil {
		return err
	}
	hc, err := a.HTTPClient()
	if err != nil {
		return err
	}
	if at.pin != "" {
		client.Pin(hc, at.pin)
	}
	status, body, err := get(ctx, hc, strings.TrimSuffix(at.url, "/")+"/livez")
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return problem.New(problem.Unavailable, "the node at %s answered %d", at.url, status)
	}
	return a.WriteResult([]byte(strings.TrimSpace(body) + "\n"))
}

// findLive finds the node: the server that was named; else the first process of the
// container, by its own command line; else the node of the data directory.
func (a *app) findLive(tree func(*app) *cobra.Command) (liveTarget, error) {
	chosen, err := a.ChosenContext()
	if err != nil {
		return liveTarget{}, err
	}
	if server := cmp.Or(a.Flags.Server, a.Env.Server, chosen.Server); server != "" {
		return liveTarget{url: server}, nil
	}
	if a.Flags.DataDir == "" && a.mainProcess != nil {
		if args := a.mainProcess(); len(args) > 0 {
			return a.liveOf(args, tree)
		}
	}
	return a.liveIn(a.DataDir())
}

// liveIn finds the node of a data directory.
func (a *app) liveIn(dir string) (liveTarget, error) {
	for _, name := range []string{datadir.Endpoint, datadir.Operations} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			at, pin, err := a.ReadEndpoint(path)
			return liveTarget{at, pin}, err
		}
	}
	return liveTarget{}, problem.New(problem.Unreachable, "no node has run in %s", dir).
		Fix("start one, or name it with --server, --data or SLUICE_DATA_DIR")
}

// liveOf finds the node that a command line of this program starts: by its flags, its
// configuration file and the environment, as the node itself reads them.
func (a *app) liveOf(args []string, tree func(*app) *cobra.Command) (liveTarget, error) {
	other := &app{Session: command.Session{Terminal: terminal.Terminal{In: a.In, Out: a.Out, Err: a.Err}, Env: a.Env}}
	cmd, rest, err := tree(other).Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		other.Config, err = config.Load(other.Flags.ConfigFile, other.Env)
	}
	if err != nil {
		return liveTarget{}, err
	}
	flag := func(name string) string {
		if f := cmd.Flags().Lookup(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	listen := cmp.Or(flag("admin-listen"), other.Config.AdminListen, node.DefaultAdminListen)
	files := adminFiles(tlsfiles.Files{Certificate: flag("admin-tls-cert"), Key: flag("admin-tls-key")}, other)
	if flag("role") == string(node.RoleEdge) {
		listen, files = cmp.Or(flag("ops-listen"), node.DefaultOperationsListen), tlsfiles.Files{}
	}
	if _, port, err := net.SplitHostPort(listen); err != nil || port == "0" {
		return other.liveIn(other.DataDir()) // only the node knows
	}
	at := liveTarget{url: "http://" + client.Dialable(listen)}
	if files.Certificate == "" {
		return at, nil
	}
	leaf, err := tlsfiles.Leaf(tlsfiles.Options{Files: files, Name: adminName})
	if err != nil {
		return at, err
	}
	return liveTarget{"https://" + client.Dialable(listen), datadir.Pin(leaf.Raw)}, nil
}

// firstProcess are the arguments of the first process of this machine or container, when
// it is this very program; none otherwise.
func firstProcess() []string {
	theirs, err := os.Stat("/proc/1/exe")
	if err != nil || os.Getpid() == 1 {
		return nil
	}
	ours, err := os.Stat("/proc/self/exe")
	if err != nil || !os.SameFile(ours, theirs) {
		return nil
	}
	b, err := os.ReadFile("/proc/1/cmdline")
	if err != nil {
		return nil
	}
	words := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	return words[1:]
}
