# Shoal's tasks. `make` alone lists them.

GO       ?= go
TOOL     := $(GO) tool -modfile=tools/go.mod
PKG      ?= ./...
FOR      ?= 90s
FUZZTIME ?= 10s
BENCH    ?= .
ONLY     ?= *
JOBS     ?= 1

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: check
check: fmt-check lint test generate-check ## everything CI runs: format, lint, tests with the race detector, generated code

.PHONY: test
test: ## all tests, with the race detector; and the search without, since it would take too long
	$(GO) test -race -timeout 20m $(PKG)
	$(GO) test -run '^TestSearch' ./profile

.PHONY: lint
lint: ## static checks (pinned golangci-lint)
	$(TOOL) golangci-lint run

.PHONY: fmt
fmt: ## format the tree
	$(TOOL) golangci-lint fmt

.PHONY: fmt-check
fmt-check: ## fail when a file is not formatted
	$(TOOL) golangci-lint fmt --diff

.PHONY: build
build: ## build bin/shoal
	$(GO) build -trimpath -o bin/shoal ./cmd/shoal

.PHONY: demo
demo: ## three nodes and a few hundred players in one process; FOR=90s
	$(GO) run ./cmd/shoal demo --for $(FOR)

.PHONY: engines
engines: ## install what is missing of PostgreSQL, Redis and PgBouncer, for the tests of the drivers; none is started
	.ci/engines

.PHONY: cluster
cluster: ## a private PostgreSQL, Redis and Redis Cluster, three daemons and a load; FOR=90s, FAST=redis|cluster|none
	$(GO) run ./internal/engines/cmd -for $(FOR) -fast $(or $(FAST),redis)

.PHONY: chaos
chaos: ## three daemons on PostgreSQL and Redis, broken on purpose, checked from outside; FOR=90s, SEED=1, FAST=redis|kept|sentinel|cluster|none
	$(GO) run ./internal/chaos/cmd -for $(FOR) -seed $(or $(SEED),1) -fast $(or $(FAST),redis)

.PHONY: bench
bench: ## all benchmarks; BENCH=regexp, PKG=./doc
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

.PHONY: performance
performance: ## boards, seasons and engines, measured, into docs/performance.md; MAX=10000000 needs 4 GB of disk and some minutes
	$(GO) run ./cmd/shoal bench boards --max $(or $(MAX),1000000) --out docs/performance.md
	$(GO) run ./cmd/shoal bench seasons --out docs/performance.md
	$(MAKE) performance-engines

.PHONY: performance-engines
performance-engines: ## the last of these alone: PostgreSQL and Redis, private ones; ENGINES='--nodes 100 --players 10000'
	$(GO) run ./internal/engines/cmd $(GO) run ./cmd/shoal bench engines --out docs/performance.md $(ENGINES)

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME
	@$(GO) list ./... | while read -r p; do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

.PHONY: sim
sim: ## the fleet in virtual time, with faults by seed; prints scenario by column; SEEDS=20 (SHOAL_SIM_RIVALS=1 for rivals too)
	SHOAL_SIM_SEEDS=$(or $(SEEDS),20) $(GO) test -count=1 -timeout 60m -v -run 'TestSim$$' ./sim

.PHONY: search
search: ## all interleavings within the protocol's bounds, and random walks beyond; WALKS=100000
	SHOAL_SEARCH=full SHOAL_SEARCH_WALKS=$(or $(WALKS),100000) $(GO) test -count=1 -timeout 120m -v -run '^TestSearch' ./profile

.PHONY: mutants
mutants: ## weaken each rule in turn (mutants/*.mutant) and see the proof fail; ONLY='takeover-*', JOBS=1
	$(GO) run ./internal/mutants/cmd -only '$(ONLY)' -jobs $(JOBS)

.PHONY: generate
generate: ## generate code from the .proto files
	$(GO) generate ./proto/...

.PHONY: generate-check
generate-check: generate ## fail when generated code is not what the .proto files give
	@git diff --exit-code -- proto server || { echo 'generated code is stale: run make generate and commit'; exit 1; }
