package openapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Compile reads a specification and gives each operation to opts.Each.
//
// A document that cannot be used as a whole is a *problem.Error of kind
// InvalidSpec with the single faults in Parts and a diagnostic code ([Code]).
// When the time is up the error is of kind Timeout; when ctx ended, its error is
// in the chain. An error of Each is returned as it is.
func Compile(ctx context.Context, src Source, opts Options) (*Result, error) {
	lim := opts.Limits.withDefaults()
	if opts.Limits.Timeout == 0 {
		lim.Timeout += time.Duration(len(src.Data)) * timePerByte
	}
	ctx, cancel := context.WithTimeout(ctx, lim.Timeout)
	defer cancel()
	res, err := newCompiler(ctx, src, opts, lim).compileAll()
	if err == nil {
		return res, nil
	}
	if errors.Is(err, context.DeadlineExceeded) && !problem.Is(err, problem.Timeout) {
		return nil, problem.New(problem.Timeout, "the specification was not compiled within %s", lim.Timeout).
			At(src.Name, 0, 0, "").Fix("try again when the machine has less to do, or split the specification").Because(err)
	}
	return nil, err
}

func newCompiler(ctx context.Context, src Source, opts Options, lim Limits) *compiler {
	return &compiler{
		ctx: ctx, src: src, opts: opts, limits: lim, file: src.Name,
		refs: make(map[refKey]value), docs: make(map[string]*document), depthOf: make(map[*document]int), names: make(map[*document]*names),
		memo: make(map[value]*schema), combined: make(map[string]*schema),
		extends: make(map[*document]map[value][]subtype), extended: make(map[value][]subtype), subtyped: make(map[subtypeKey]*schema),
		responses: make(map[*schema]*operation.Schema),
		outputs:   make(map[outputKey][]byte), promised: make(map[outputKey][]operation.Promise), patterns: make(map[string]bool), schemeIDs: make(map[string]bool), said: make(map[string]bool),
		anything: &schema{open: true},
	}
}

// timePerByte is three seconds for each MiB: Kubernetes's 3.7 MiB take 1.2 s of one processor,
// and nearly ten by the clock on a machine with six times as much to do as it has processors.
const timePerByte = 3 * time.Second / (1 << 20)

// compileAll is compile with its two helpers at work beside it.
func (c *compiler) compileAll() (res *Result, err error) {
	c.sum = sumLater(c.src.Data)
	if c.opts.Each != nil {
		c.delivery = deliver(c.opts.Each)
	}
	// Also when compile panics: nothing may be at work when Compile is left.
	defer func() {
		if fault := c.delivery.end(); fault != nil {
			res, err = nil, fault
		}
	}()
	return c.compile()
}

// withDefaults fills in what is zero and enforces the hard limits.
func (l Limits) withDefaults() Limits {
	return Limits{
		MaxBytes:      min(cmp.Or(l.MaxBytes, DefaultMaxBytes), HardMaxBytes),
		MaxDepth:      min(cmp.Or(l.MaxDepth, DefaultMaxDepth), hardMaxDepth),
		MaxNodes:      cmp.Or(l.MaxNodes, DefaultMaxNodes),
		MaxString:     cmp.Or(l.MaxString, DefaultMaxString),
		MaxPaths:      cmp.Or(l.MaxPaths, DefaultMaxPaths),
		MaxOperations: cmp.Or(l.MaxOperations, DefaultMaxOperations),
		MaxTool:       cmp.Or(l.MaxTool, DefaultMaxTool),
		MaxEmitted:    cmp.Or(l.MaxEmitted, DefaultMaxEmitted),
		MaxDocuments:  cmp.Or(l.MaxDocuments, DefaultMaxDocuments),
		MaxTotalBytes: cmp.Or(l.MaxTotalBytes, DefaultMaxTotalBytes),
		Timeout:       cmp.Or(l.Timeout, DefaultTimeout),
	}
}

// hardMaxDepth keeps recursion far from the end of a goroutine's stack.
const hardMaxDepth = 2000

// compiler is the state of one Compile. It is used by one goroutine.
type compiler struct {
	diagnostics
	ctx     context.Context // of the one call this value serves
	src     Source
	opts    Options
	limits  Limits
	file    string
	version version

	refs    map[refKey]value
	finder  textfilter.Finder    // of the tools so far
	docs    map[string]*document // other documents by path or URL; nil: cannot be loaded
	depthOf map[*document]int
	names   map[*document]*names
	fetched int // documents
	loaded  int // bytes of other documents
	// loadedDocs are the bytes of the other documents that were read.
	loadedDocs map[string][]byte

	anything   *schema // the schema that allows everything
	memo       map[value]*schema
	combined   map[string]*schema
	extends    map[*document]map[value][]subtype
	extended   map[value][]subtype
	subtyped   map[subtypeKey]*schema
	nested     bool   // a subtype of a subtype is being folded
	within     string // discriminator of the subtype that is being folded
	responses  map[*schema]*operation.Schema
	outputs    map[outputKey][]byte
	promised   map[outputKey][]operation.Promise
	patterns   map[string]bool
	created    int
	folds      int
	levelFolds int
	guesses    int // "did you mean" searches made
	hops       int
	steps      int
	err        error // the context ended in the middle of something

	api       *operation.API
	schemeIDs map[string]bool
	namer     namer
	ids       map[string]value // operationIds seen, lower case
	said      map[string]bool  // what operations are described with, lower case
	relative  string           // a relative server that has no base
	creds     *credentialUse
	bodies    *bodyUse
	emitted   int
	scratch   []byte
	input     []byte

	delivery *delivery // nil: nobody receives operations
	sum      <-chan [sha256.Size]byte
}

// tick looks at the deadline now and then.
func (c *compiler) tick() {
	if c.steps++; c.steps%stepsPerCheck == 0 && c.err == nil {
		c.err = c.ctx.Err()
	}
}

func (c *compiler) compile() (*Result, error) {
	d, dups, err := read(c.ctx, c.src.Data, c.limits)
	if err != nil {
		return nil, readFatal(c.file, err)
	}
	d.base, d.path = c.src.BaseURL, c.src.Path
	format := "json"
	if d.yaml {
		format = "yaml"
	}
	if len(c.src.Overlays) > 0 {
		c.diagnostics.main = d
		if d, err = c.overlaid(d); err != nil {
			return nil, err
		}
		dups = nil // their places are in the document that was replaced
	}
	c.main, c.diagnostics.main = d, d
	if c.src.Path != "" {
		c.docs[c.src.Path] = d
	}
	if c.src.BaseURL != "" {
		c.docs[c.src.BaseURL] = d
	}
	c.warnDuplicates(dups)
	root := d.root()
	v, written, err := c.detect(root)
	if err != nil {
		return nil, err
	}
	c.version = v
	res := &Result{Format: format, SpecVersion: written}
	if v == openapi32 {
		// $self is the base of relative references, not a place to fetch from.
		if self := root.get("$self").str(); strings.HasPrefix(self, "http") && d.base == "" {
			d.base = self
		}
	}
	c.warnHidden(d)
	c.readAPI(root)
	c.inspectAPI(root.get("info"))
	res.API = c.api
	if err := c.readPaths(root, res); err != nil {
		return nil, err
	}
	if res.Operations == 0 {
		c.noOperations(root)
	}
	if len(c.api.Servers) == 0 {
		detail := "the specification names no server"
		if c.relative != "" {
			detail = fmt.Sprintf("the specification's server %s is relative and it was not fetched from a URL", quoteShort(c.relative))
		}
		c.warn(codeServerMissing, root.get("servers"), "give the base URL of the API", "%s", detail)
	}
	for _, name := range slices.Sorted(maps.Keys(c.docs)) {
		if other := c.docs[name]; other != nil && other != d {
			c.warnHidden(other)
		}
	}
	if c.opts.Strict {
		if err := c.validate(d); err != nil {
			return nil, err
		}
	}
	res.Warnings = c.finish()
	res.Documents, res.Digest = c.loadedDocs, c.digest()
	return res, nil
}

// digest names everything that was compiled.
func (c *compiler) digest() string {
	sum := <-c.sum
	if len(c.src.Overlays) == 0 && len(c.loadedDocs) == 0 {
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	h := sha256.New()
	h.Write(sum[:])
	for _, o := range c.src.Overlays {
		sum = sha256.Sum256(o.Data)
		h.Write(sum[:])
	}
	for _, name := range slices.Sorted(maps.Keys(c.loadedDocs)) {
		sum = sha256.Sum256([]byte(name))
		h.Write(sum[:])
		sum = sha256.Sum256(c.loadedDocs[name])
		h.Write(sum[:])
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func (c *compiler) noOperations(root value) {
	at := root.get("paths")
	if root.get("webhooks").size() > 0 {
		c.warn(codeWebhooks, root.get("webhooks"), "import the specification of the API itself", "the document has only webhooks, which cannot be called")
		return
	}
	c.warn(codeNoOperations, at, "check that this is the main file of the specification", "the document has no operations")
}

// readAPI reads everything but the operations.
func (c *compiler) readAPI(root value) {
	info := root.get("info")
	if !info.isObject() {
		c.warn(codeWrongType, root, "add info with title and version", "info is missing or not an object")
	}
	c.api = &operation.API{
		Title: cutText(collapse(info.get("title").str()), maxPropertyText), Version: cutText(collapse(info.get("version").str()), 100),
		Description: cutWords(firstSentences(plain(info.get("description").str()), maxDescription), maxDescription),
	}
	if c.api.Version == "" {
		c.api.Version = "0"
	}
	schemes := root.get("components").get("securitySchemes")
	if c.version == swagger20 {
		schemes = root.get("securityDefinitions")
		c.api.Servers = c.swaggerServers(root)
	} else {
		list := root.get("servers")
		c.api.Servers = c.servers(list)
		if !list.exists() || list.size() == 0 {
			if u, ok := c.relativeURL("/", root); ok {
				c.api.Servers = []operation.Server{{URL: u}}
			}
		}
	}
	c.api.Name = apiName(c.api.Title, c.api.Servers)
	c.api.Schemes = c.securitySchemes(schemes)
	for _, s := range c.api.Schemes {
		c.schemeIDs[s.ID] = true
	}
	c.api.Security = c.requirements(root.get("security"))
}
