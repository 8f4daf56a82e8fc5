//go:build unix

package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestMain is also the keeper, and the servers of the tests.
func TestMain(m *testing.M) {
	if Keep(os.Args) {
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		fake(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	hears := make(chan os.Signal, 1) // starts the goroutine that stays, which go test -fuzz starts otherwise
	signal.Notify(hears, os.Interrupt)
	signal.Stop(hears)
	before := runtime.NumGoroutine()
	code := m.Run()
	for range 200 {
		if runtime.NumGoroutine() <= before {
			os.Exit(code)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if code == 0 {
		buf := make([]byte, 64<<10)
		fmt.Fprintf(os.Stderr, "goroutines are left:\n%s\n", buf[:runtime.Stack(buf, true)])
		code = 1
	}
	os.Exit(code)
}

// fake is a server of one kind.
func fake(kind string, args []string) {
	out := bufio.NewWriter(os.Stdout)
	say := func(format string, args ...any) {
		_, _ = fmt.Fprintf(out, format+"\n", args...)
		_ = out.Flush()
	}
	if kind == "exits" {
		_, _ = fmt.Fprintln(os.Stderr, "no configuration")
		os.Exit(3)
	}
	in := bufio.NewReader(os.Stdin)
	calls := 0
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if kind == "stays" {
				signal.Ignore(syscall.SIGTERM)
				time.Sleep(time.Hour)
			}
			return
		}
		v, err := jsonscan.Parse(line, 64)
		if err != nil {
			continue
		}
		id, method := string(v.Get("id").Raw()), string(v.Get("method").AppendText(nil))
		switch {
		case method == "server/discover" && kind == "modern":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`, id)
			continue
		case method == "server/discover" && kind == "quits": // as servers that want initialize first
			os.Exit(3)
		case method == "server/discover" && kind == "mum":
			continue
		case method == "notifications/cancelled":
			_, _ = fmt.Fprintf(os.Stderr, "cancelled %s\n", v.Get("params").Get("requestId").Raw())
			continue
		case method == "initialize":
			if kind == "greets" {
				say("Server started on stdio")
			}
			if kind == "silent" {
				continue
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}}`, id)
			continue
		case id == "":
			continue
		case method != "tools/call" && method != "tools/list":
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, id)
			continue
		}
		calls++
		text := func(s string) {
			b, _ := json.Marshal(s)
			say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, id, b)
		}
		if len(args) > 0 && args[0] == "never" {
			continue
		}
		switch kind {
		case "garbage":
			for range maxStray + 1 {
				say("this is not a message")
			}
		case "chats": // and writes a log in JSON, with ids
			for range maxStray - 1 {
				say("calling")
			}
			say(`{"level":30,"id":%s,"msg":"called"}`, id)
			_, _ = out.WriteString("\ufeff")
			text("well")
			continue
		case "long":
			_, _ = out.WriteString(`{"jsonrpc":"2.0","x":"`)
			for range maxLine>>20 + 1 {
				_, _ = out.WriteString(strings.Repeat("x", 1<<20))
			}
			say(`"}`)
		case "never":
		case "mute": // it goes on, and nobody can hear it
			_ = os.Stdout.Close()
			time.Sleep(time.Hour)
		case "deaf": // it goes on, and nobody can tell it anything
			_ = os.Stdin.Close()
			text("the last")
			time.Sleep(time.Hour)
		case "strays": // answers to nothing
			for _, id := range []string{"null", "99", `"x"`, "-1"} {
				say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)
			}
			say(`{"jsonrpc":"2.0","result":{"content":[]}}`)
			text("right")
		case "dies":
			os.Exit(4)
		case "forks": // a child in a session of its own, whose parent goes
			c := exec.Command("/bin/sh", "-c", "setsid sleep 3600 >/dev/null 2>&1 & echo $!")
			b, _ := c.Output()
			text(strings.TrimSpace(string(b)))
		case "many":
			for range 40 {
				_ = exec.Command("sleep", "3600").Start()
			}
		case "floods":
			for i := range 20_000 {
				_, _ = fmt.Fprintf(os.Stderr, "line %d %s\n", i, strings.Repeat("y", 3000))
			}
			text("done")
		case "burst":
			b := make([]byte, 2<<30)
			for i := range b {
				b[i] = 1
			}
			text(string(b[:1]))
		case "memory":
			var keep [][]byte
			for {
				b := make([]byte, 1<<20)
				for i := range b {
					b[i] = 1
				}
				keep = append(keep, b)
				if len(keep) > 1<<20 {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		case "environ":
			text(strings.Join(os.Environ(), "\n"))
		case "says":
			_, _ = fmt.Fprintln(os.Stderr, strings.Join(args, " "), os.Getenv("TOKEN"))
			text("said")
		case "progress":
			token := v.Get("params").Get("_meta").Get("progressToken").Raw()
			say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, token)
			say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			say(`{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{}}`)
			reply, _ := in.ReadBytes('\n')
			text(strings.TrimSpace(string(reply)))
		case "network":
			b, err := os.ReadFile("/proc/self/net/dev")
			text(fmt.Sprint(string(b), err))
		default:
			text(fmt.Sprintf("call %d of process %d in %s", calls, os.Getpid(), workDir()))
		}
	}
}

func workDir() string {
	dir, _ := os.Getwd()
	return dir
}
