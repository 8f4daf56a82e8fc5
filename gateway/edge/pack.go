package edge

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// A pack is a file of many contents: packMagic, then for each its SHA-256, its
// length in 8 bytes, big end first, and its bytes. Packs are written once and
// never changed. A thousand toolsets come in through one open file, where a file
// for each of their four contents costs a thousand times five system calls; that
// is most of a start.
const (
	packMagic  = "sluice pack 1\n"
	packSuffix = ".pack"
	packHeader = sha256.Size + 8
	// maxPacks until they are made one: each publish adds one, and a start reads all.
	maxPacks = 64
	// maxPackBytes of one pack; a node of 20,000 toolsets has about 1 GB.
	maxPackBytes = 8 << 30
)

type sum [sha256.Size]byte

// digest is the digest with that sum.
func (s sum) digest() registry.Digest { return registry.Digest("sha256:" + hex.EncodeToString(s[:])) }

// place is where a content lies.
type place struct {
	pack      *pack
	off, size int64
	swept     uint64 // the last sweep that found it needed
}

// holding is what one artifact occupies in the cache: its manifest, layer and config.
// The states that use the artifact share it.
type holding struct {
	sums  []sum
	swept uint64 // the last sweep that saw it
}

func contentOf(a *oci.Artifact) *holding {
	h := &holding{sums: make([]sum, 0, 3)}
	for _, d := range [...]registry.Digest{a.Digest(), a.LayerDigest()} {
		if s, err := sumOf(d); err == nil { // an artifact's digests are valid
			h.sums = append(h.sums, s)
		}
	}
	h.sums = append(h.sums, sha256.Sum256(a.Config()))
	return h
}

// pack is one file. file is open while the node starts, nil later.
type pack struct {
	number uint64
	path   string
	file   *os.File
	total  int64 // bytes of all contents
	sums   []sum // of its contents; another pack may hold them as well
}

// packs is the content part of the cache. It checks nothing but bounds: package
// oci hashes whatever is read. get and has may be called from many goroutines, the
// rest by one.
type packs struct {
	sys  atomicfile.System
	dir  string
	list []*pack // by number

	sweeps uint64         // that were made
	mu     sync.RWMutex   // held for writing by the one that changes index or a file
	index  map[sum]*place // guarded by mu
}

// openPacks reads every pack below dir. A pack that is damaged counts up to the
// damage; what is missing then is fetched again.
func openPacks(dir string, sys atomicfile.System) (*packs, error) {
	if err := atomicfile.MkdirAll(sys, dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read directory %s: %w", dir, err)
	}
	p := &packs{sys: sys, dir: dir, index: make(map[sum]*place)}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), atomicfile.TempPrefix) {
			_ = sys.Remove(path) // only this process writes here; a left-over costs space only
			continue
		}
		text, ok := strings.CutSuffix(e.Name(), packSuffix)
		n, err := strconv.ParseUint(text, 10, 64)
		if !ok || err != nil {
			continue // not ours
		}
		p.list = append(p.list, &pack{number: n, path: path})
	}
	slices.SortFunc(p.list, func(a, b *pack) int { return cmp.Compare(a.number, b.number) })
	for _, k := range p.list {
		if err := p.scan(k); err != nil {
			p.release()
			return nil, fmt.Errorf("read %s: %w", k.path, err)
		}
	}
	return p, nil
}

// scan indexes what a pack holds; a later pack wins, so that content that was
// damaged can be written again.
func (p *packs) scan(k *pack) (err error) {
	if k.file, err = os.Open(k.path); err != nil {
		return err
	}
	info, err := k.file.Stat()
	if err != nil {
		return err
	}
	var header [packHeader]byte
	magic := header[:len(packMagic)]
	if _, err := k.file.ReadAt(magic, 0); err != nil || string(magic) != packMagic {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	}
	for off := int64(len(packMagic)) + packHeader; off <= info.Size(); {
		if _, err := k.file.ReadAt(header[:], off-packHeader); err != nil {
			return err
		}
		size := binary.BigEndian.Uint64(header[sha256.Size:])
		if size > uint64(info.Size()-off) {
			return nil
		}
		p.index[sum(header[:])] = &place{pack: k, off: off, size: int64(size)}
		k.sums = append(k.sums, sum(header[:]))
		k.total += int64(size)
		off += int64(size) + packHeader
	}
	return nil
}

// release closes the files that openPacks opened; later gets open them again.
func (p *packs) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.list {
		if k.file != nil {
			_ = k.file.Close() // only read
			k.file = nil
		}
	}
}

func sumOf(d registry.Digest) (s sum, err error) {
	if !d.Valid() {
		return s, registry.ErrDigest
	}
	_, err = hex.Decode(s[:], []byte(d.Hex()))
	return s, err
}

// has reports whether something is stored for d.
func (p *packs) has(d registry.Digest) bool {
	s, err := sumOf(d)
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, ok := p.index[s]
	return ok && err == nil
}

// get returns what is stored for d, unchecked and at most limit bytes.
func (p *packs) get(d registry.Digest, limit int64) ([]byte, error) {
	s, err := sumOf(d)
	if err != nil {
		return nil, err
	}
	p.mu.RLock()
	defer p.mu.RUnlock() // a pack that is read is not removed
	at, ok := p.index[s]
	if !ok {
		return nil, fmt.Errorf("%s: %w", d, registry.ErrNotFound)
	}
	if at.size > limit {
		return nil, problem.New(problem.TooLarge, "the content %s has %d bytes, the limit is %d", d.Short(), at.size, limit)
	}
	f := at.pack.file
	if f == nil {
		if f, err = os.Open(at.pack.path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", d, registry.ErrNotFound)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", d, err)
		}
		defer func() { _ = f.Close() }() // only read
	}
	b := make([]byte, at.size)
	if _, err := f.ReadAt(b, at.off); err != nil {
		return nil, fmt.Errorf("read %s: %w", d, err)
	}
	return b, nil
}

// content is bytes to be stored and their digest.
type content struct {
	digest registry.Digest
	data   []byte
}

// packSize is how long a pack of contents gets, at most. It fails when that is more than a
// pack may have.
func packSize(contents []content) (int64, error) {
	n := int64(len(packMagic))
	for _, c := range contents {
		n += packHeader + int64(len(c.data))
	}
	if n > maxPackBytes {
		return 0, fmt.Errorf("%d bytes are more than a pack holds", n)
	}
	return n, nil
}

// add stores contents durably in a new pack.
func (p *packs) add(contents []content) error {
	k := &pack{number: 1}
	if len(p.list) > 0 {
		k.number = p.list[len(p.list)-1].number + 1
	}
	k.path = filepath.Join(p.dir, strconv.FormatUint(k.number, 10)+packSuffix)
	if _, err := packSize(contents); err != nil { // before anything is written
		return fmt.Errorf("write %s: %w", k.path, err)
	}
	w, err := atomicfile.Create(p.sys, k.path, 0o600)
	if err != nil {
		return err
	}
	defer w.Discard()
	write := func(b []byte) {
		if err == nil {
			_, err = w.Write(b)
		}
	}
	write([]byte(packMagic))
	off := int64(len(packMagic))
	places := make(map[sum]*place, len(contents))
	for _, c := range contents {
		s, derr := sumOf(c.digest)
		if derr != nil {
			return derr
		}
		if _, twice := places[s]; twice {
			continue
		}
		var header [packHeader]byte
		copy(header[:], s[:])
		binary.BigEndian.PutUint64(header[sha256.Size:], uint64(len(c.data)))
		write(header[:])
		write(c.data)
		size := int64(len(c.data))
		places[s] = &place{pack: k, off: off + packHeader, size: size}
		k.sums = append(k.sums, s)
		off += packHeader + size
		k.total += size
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", k.path, err)
	}
	if err := w.Commit(); err != nil {
		return err
	}
	p.list = append(p.list, k)
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.index, places)
	return nil
}

// sweep drops what none of the sets needs: packs that hold nothing else are
// removed, and when there are many packs, or more waste than use, what is needed
// is written into one and the others are removed.
func (p *packs) sweep(needed ...[]*holding) error {
	p.sweeps++
	used := make(map[*pack]int64)
	for _, set := range needed {
		for _, h := range set {
			if h.swept == p.sweeps {
				continue // in another set as well
			}
			h.swept = p.sweeps
			for i := range h.sums {
				if at := p.index[h.sums[i]]; at != nil && at.swept != p.sweeps {
					at.swept = p.sweeps
					used[at.pack] += at.size
				}
			}
		}
	}
	var use, all int64
	for _, k := range p.list {
		use += used[k]
		all += k.total
	}
	old := p.list
	if len(old) <= maxPacks && all-use <= use {
		return p.drop(old, func(k *pack) bool { return used[k] > 0 })
	}
	var contents []content
	for s, at := range p.index {
		if at.swept != p.sweeps {
			continue
		}
		d := s.digest()
		b, err := p.get(d, at.size)
		if err != nil {
			return err
		}
		if !d.Matches(b) {
			continue // damaged on disk: as good as missing, and fetched again when it is needed
		}
		contents = append(contents, content{d, b})
	}
	slices.SortFunc(contents, func(a, b content) int { return strings.Compare(string(a.digest), string(b.digest)) })
	if len(contents) == 0 {
		return p.drop(old, func(*pack) bool { return false })
	}
	if err := p.add(contents); err != nil {
		return err
	}
	whole := p.list[len(p.list)-1]
	return p.drop(p.list, func(k *pack) bool { return k == whole })
}

// drop removes the packs that do not stay, and from the index what lay in them.
func (p *packs) drop(list []*pack, stays func(*pack) bool) error {
	var left []*pack
	gone := false
	for _, k := range list {
		if stays(k) {
			left = append(left, k)
			continue
		}
		gone = true
		if err := p.sys.Remove(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", k.path, err)
		}
	}
	if !gone {
		return nil
	}
	p.list = left
	p.mu.Lock()
	for _, k := range list {
		if stays(k) {
			continue
		}
		for _, s := range k.sums {
			if at := p.index[s]; at != nil && at.pack == k {
				delete(p.index, s)
			}
		}
	}
	p.mu.Unlock()
	return p.sys.SyncDir(p.dir)
}
