package extism

import (
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// referenceDir is where the reference's module is; its plugins, written by others
// in Go, Rust, C, Haskell and WAT, are in wasm/.
var referenceDir = sync.OnceValue(func() string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").Output()
	if err != nil {
		panic(fmt.Sprintf("go list -m github.com/extism/go-sdk: %v (GOROOT %s)", err, build.Default.GOROOT))
	}
	return strings.TrimSpace(string(out))
})

// theirPlugin is the code of one of them.
func theirPlugin(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(referenceDir(), "wasm", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
