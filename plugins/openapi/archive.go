package openapi

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// Bounds of archives besides HardMaxFiles and HardMaxBytes, which bound what is
// taken out of them.
const (
	// maxArchiveEntries bounds what is looked at, files of other kinds included.
	maxArchiveEntries = 100_000
	// maxArchiveDepth bounds the folders around a file; real trees have at most 10.
	maxArchiveDepth = 32
	// mainHead is how much of a file is searched for the version of a specification.
	mainHead = 64 << 10
)

// IsArchive reports a zip, a tar or a gzipped tar by its first bytes.
func IsArchive(data []byte) bool {
	return bytes.HasPrefix(data, []byte("PK\x03\x04")) || bytes.HasPrefix(data, []byte("\x1f\x8b")) ||
		len(data) > 262 && string(data[257:262]) == "ustar"
}

// Unpack takes the JSON and YAML files out of a zip, tar or gzipped tar and finds
// the main document among them: the one called main, a path in the archive; or,
// when main is empty, the one specification that is nearest to the root. Nothing
// is written anywhere; links and names that leave the archive are refused.
// Errors are *problem.Error of kinds InvalidSpec and TooLarge.
func Unpack(name string, data []byte, main string) (Source, error) {
	u := unpacker{name: name, files: make(map[string][]byte)}
	var err error
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		err = u.zip(data)
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			err = u.tar(z)
		}
	default:
		err = u.tar(bytes.NewReader(data))
	}
	if err != nil {
		if problem.As(err) != nil {
			return Source{}, err
		}
		return Source{}, u.fault("the archive is broken").Because(err).Fix("pack it again as zip or tar.gz")
	}
	return InFiles(name, u.files, main)
}

// InFiles is the specification that several files make up, by slash-separated
// path; see [Unpack] for main.
func InFiles(name string, files map[string][]byte, main string) (Source, error) {
	total := 0
	for p, data := range files {
		if !localPath(p) {
			return Source{}, problem.New(problem.InvalidSpec, "%.200q is not a path inside the specification", p).At(name, 0, 0, "").
				Fix("use paths such as api/openapi.yaml")
		}
		total += len(data)
	}
	if len(files) > HardMaxFiles || total > HardMaxBytes {
		return Source{}, tooManyFiles(name)
	}
	if main == "" {
		var err error
		if main, err = mainFile(name, files); err != nil {
			return Source{}, err
		}
	}
	data, ok := files[main]
	if !ok {
		return Source{}, problem.New(problem.InvalidSpec, "there is no file %.200q", main).At(name, 0, 0, "").Fix("name the main document by its path")
	}
	return Source{Name: path.Base(main), Data: data, Path: main, Files: files}, nil
}

func tooManyFiles(name string) error {
	return problem.New(problem.TooLarge, "%s has more than %d specification files or %d MB of them", name, HardMaxFiles, HardMaxBytes>>20).
		Fix("leave out what the specification does not refer to")
}

// localPath reports a clean relative path without "..", as archives should have.
func localPath(p string) bool {
	return p != "" && path.Clean(p) == p && !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../") &&
		!strings.ContainsAny(p, "\\\x00") && strings.Count(p, "/") <= maxArchiveDepth
}

// mainFile is the specification nearest to the root.
func mainFile(name string, files map[string][]byte) (string, error) {
	var best []string
	for p, data := range files {
		if !looksLikeSpecification(data) {
			continue
		}
		if len(best) > 0 && strings.Count(p, "/") > strings.Count(best[0], "/") {
			continue
		}
		if len(best) > 0 && strings.Count(p, "/") < strings.Count(best[0], "/") {
			best = best[:0]
		}
		best = append(best, p)
	}
	slices.Sort(best)
	// Of several the one with the name that such files have.
	for _, usual := range [...]string{"openapi", "swagger", "api", "main", "root", "index", "spec"} {
		i := slices.IndexFunc(best, func(p string) bool { return strings.TrimSuffix(path.Base(p), path.Ext(p)) == usual })
		if i >= 0 && len(best) > 1 {
			return best[i], nil
		}
	}
	switch {
	case len(best) == 0:
		return "", problem.New(problem.InvalidSpec, "none of its %d JSON and YAML files is an OpenAPI document", len(files)).At(name, 0, 0, "").
			Fix("add the main document, the one with `openapi` or `swagger` at its top")
	case len(best) > 1:
		const shown = 8 // enough to see what they are
		return "", problem.New(problem.InvalidSpec, "%d of its files are OpenAPI documents: %s", len(best), strings.Join(best[:min(len(best), shown)], ", ")).
			At(name, 0, 0, "").Fix("say which one is the main document, by its path")
	}
	return best[0], nil
}

// looksLikeSpecification finds "openapi" or "swagger" as a name at the top.
func looksLikeSpecification(data []byte) bool {
	head := data[:min(len(data), mainHead)]
	if t := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), " \t\r\n"); len(t) > 0 && t[0] == '{' {
		return bytes.Contains(head, []byte(`"openapi"`)) || bytes.Contains(head, []byte(`"swagger"`))
	}
	for line := range bytes.Lines(head) {
		line = bytes.TrimLeft(line, `"'`)
		if bytes.HasPrefix(line, []byte("openapi")) || bytes.HasPrefix(line, []byte("swagger")) {
			rest := bytes.TrimLeft(line[len("openapi"):], `"' `)
			if bytes.HasPrefix(rest, []byte(":")) {
				return true
			}
		}
	}
	return false
}

// unpacker collects the files of one archive.
type unpacker struct {
	name    string
	files   map[string][]byte
	entries int
	total   int64
}

func (u *unpacker) fault(format string, args ...any) *problem.Error {
	return problem.New(problem.InvalidSpec, format, args...).At(u.name, 0, 0, "")
}

// entry takes one file of the archive, when it is JSON or YAML.
func (u *unpacker) entry(name string, regular bool, content func() (io.ReadCloser, error)) error {
	if u.entries++; u.entries > maxArchiveEntries {
		return problem.New(problem.TooLarge, "%s has more than %d entries", u.name, maxArchiveEntries).Fix("pack only the specification")
	}
	ext := strings.ToLower(path.Ext(name))
	if !regular || ext != ".json" && ext != ".yaml" && ext != ".yml" {
		return nil
	}
	name = strings.TrimPrefix(name, "./")
	if !localPath(name) {
		return u.fault("the archive has a file %.200q, which is not a path inside it", name).Fix("pack it again with relative paths")
	}
	if len(u.files) >= HardMaxFiles {
		return tooManyFiles(u.name)
	}
	r, err := content()
	if err != nil {
		return fmt.Errorf("opening %q: %w", name, err)
	}
	defer r.Close()
	left := HardMaxBytes - u.total
	data, err := io.ReadAll(io.LimitReader(r, left+1))
	if err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	if u.total += int64(len(data)); int64(len(data)) > left {
		return tooManyFiles(u.name)
	}
	u.files[name] = data
	return nil
}

func (u *unpacker) zip(data []byte) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	for _, f := range z.File {
		if err := u.entry(f.Name, f.Mode().IsRegular(), f.Open); err != nil {
			return err
		}
	}
	return nil
}

// maxTarStream bounds what is inflated of a tar, skipped files included.
const maxTarStream = 4 * HardMaxBytes

func (u *unpacker) tar(r io.Reader) error {
	limited := &io.LimitedReader{R: r, N: maxTarStream + 1}
	t := tar.NewReader(limited)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) && limited.N > 0 {
			return nil
		}
		if limited.N <= 0 {
			return problem.New(problem.TooLarge, "%s unpacks to more than %d MB", u.name, maxTarStream>>20).Fix("pack only the specification")
		}
		if err != nil {
			return err
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(t), nil }
		if err := u.entry(h.Name, h.Typeflag == tar.TypeReg, open); err != nil {
			return err
		}
	}
}
