package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// maxTypeErrors of one platform are enough to see what is wrong there.
const maxTypeErrors = 10

// checkPlatforms proves that packages compile for each platform (GOOS/GOARCH, without
// cgo): they are type-checked against the declarations of all that they import there.
// Compiling for six platforms takes minutes, and finds nothing more in our code: what
// comes after type checking fails for a fault of the compiler only.
func checkPlatforms(ctx context.Context, dir string, platforms, patterns []string, stdout io.Writer) error {
	results := make([]error, len(platforms))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i, platform := range platforms {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			n, err := checkPlatform(ctx, dir, platform, patterns)
			if err != nil {
				results[i] = fmt.Errorf("%s: %w", platform, err)
				return
			}
			fmt.Fprintf(stdout, "%s: %d packages compile\n", platform, n)
		})
	}
	wg.Wait()
	return errors.Join(results...)
}

// A listed package of "go list".
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	DepOnly         bool
	Module          *struct{ GoVersion string }
}

// checkPlatform returns the number of packages of patterns.
func checkPlatform(ctx context.Context, dir, platform string, patterns []string) (int, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	sizes := types.SizesFor("gc", goarch)
	if !ok || sizes == nil {
		return 0, errors.New("a platform is GOOS/GOARCH")
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,DepOnly,Module"}, patterns...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w", err)
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	n := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); { // dependencies come first
		var p listed
		if err := dec.Decode(&p); err != nil {
			return n, err
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		pkg, err := p.check(checked, sizes)
		if err != nil {
			return n, err
		}
		checked[p.ImportPath] = pkg
		if !p.DepOnly {
			n++
		}
	}
	if n == 0 {
		return 0, errors.New("no package")
	}
	return n, nil
}

// check returns the type-checked package. Bodies of functions count in the packages
// that were asked for only; those of dependencies are compiled where they are used.
func (p *listed) check(imports map[string]*types.Package, sizes types.Sizes) (*types.Package, error) {
	fset := token.NewFileSet()
	files := make([]*ast.File, 0, len(p.GoFiles))
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	var faults []error
	conf := types.Config{
		Importer:         importFrom{p.ImportMap, imports},
		Sizes:            sizes,
		IgnoreFuncBodies: p.DepOnly,
		Error: func(err error) {
			if len(faults) < maxTypeErrors {
				faults = append(faults, err)
			}
		},
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		conf.GoVersion = "go" + p.Module.GoVersion
	}
	pkg, err := conf.Check(p.ImportPath, fset, files, nil)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return pkg, err
}

// importFrom finds packages that were checked before; the standard library imports
// some by another name.
type importFrom struct {
	names   map[string]string
	checked map[string]*types.Package
}

func (i importFrom) Import(path string) (*types.Package, error) {
	if name := i.names[path]; name != "" {
		path = name
	}
	if p := i.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not among the dependencies", path)
}
