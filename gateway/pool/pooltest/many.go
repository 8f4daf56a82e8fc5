package pooltest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/freeport"
)

// StartCluster starts a cluster of three servers, each with a third of the keys.
func StartCluster(t testing.TB) []*Server {
	t.Helper()
	var all []*Server
	args := []string{"--cluster", "create"}
	for range 3 {
		_, bus, err := net.SplitHostPort(freeport.Addr(t))
		if err != nil {
			t.Fatal(err)
		}
		s := startWith(t, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "2000")
		all, args = append(all, s), append(args, s.Addr)
	}
	cli := lookUp(t, "valkey-cli", "redis-cli")
	if said, err := exec.CommandContext(t.Context(), cli, append(args, "--cluster-yes")...).CombinedOutput(); err != nil { //nolint:gosec // one of two names
		t.Fatalf("making a cluster: %v\n%s", err, said)
	}
	for _, s := range all { // each learns of the others in its own time
		await(t, s, "cluster_state:ok", "cluster", "info")
	}
	return all
}

// Watched is a server with a replica, and the sentinel that puts the one in place of the other.
type Watched struct {
	Primary, Replica *Server
	Sentinel         *Server
}

// StartWatched starts them.
func StartWatched(t testing.TB) *Watched {
	t.Helper()
	w := &Watched{Primary: Start(t)}
	host, port, err := net.SplitHostPort(w.Primary.Addr)
	if err != nil {
		t.Fatal(err)
	}
	w.Replica = startWith(t, "--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0")
	await(t, w.Replica, "master_link_status:up", "info", "replication")
	s := &Server{Addr: freeport.Addr(t), t: t, dir: t.TempDir()}
	_, own, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.dir, "sentinel.conf")
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\nlogfile %s\nsentinel monitor main %s %s 1\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 5000\n", own, filepath.Join(s.dir, "log"), host, port)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(lookUp(t, "valkey-server", "redis-server"), []string{file, "--sentinel"})
	t.Cleanup(s.Kill)
	await(t, s, "num-slaves\n1\n", "sentinel", "master", "main")
	w.Sentinel = s
	return w
}

// URL is where nodes find the sentinel.
func (w *Watched) URL() string { return "redis://" + w.Sentinel.Addr + "?master_set=main" }

// await waits until a server says something.
func await(t testing.TB, s *Server, text string, command ...string) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	cli, said := lookUp(t, "valkey-cli", "redis-cli"), []byte(nil)
	for range 600 {
		said, _ = exec.CommandContext(t.Context(), cli, append([]string{"-p", port}, command...)...).CombinedOutput() //nolint:gosec // one of two names
		if strings.Contains(strings.ReplaceAll(string(said), "\r", ""), text) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s never says %q: %s", s.Addr, text, said)
}

// AwaitReplica waits until the replica has all that the primary has.
func (w *Watched) AwaitReplica() {
	w.Primary.t.Helper()
	_, port, err := net.SplitHostPort(w.Primary.Addr)
	if err != nil {
		w.Primary.t.Fatal(err)
	}
	cli := lookUp(w.Primary.t, "valkey-cli", "redis-cli")
	// WAIT is about what its own connection wrote: a write of it comes behind all the others.
	cmd := exec.CommandContext(w.Primary.t.Context(), cli, "-p", port) //nolint:gosec // one of two names
	cmd.Stdin = strings.NewReader("set written last\nwait 1 10000\n")
	if said, err := cmd.CombinedOutput(); err != nil || strings.Join(strings.Fields(string(said)), " ") != "OK 1" {
		w.Primary.t.Fatalf("the replica does not follow: %v %s", err, said)
	}
}

// Settle waits until the jobs that a Store was given before have run.
func Settle(t testing.TB, s interface {
	Later(size int, run func(context.Context)) bool
},
) {
	t.Helper()
	ran := make(chan struct{})
	if !s.Later(0, func(context.Context) { close(ran) }) {
		t.Fatal("the pool has no room for another job")
	}
	<-ran
}
