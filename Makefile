# The two commands:
#
#   make run     build everything and investigate the example's incident
#   make test    check and test everything; installs what it stands on, or says what to
#
# The rest is parts of these, and make bench, make fuzz, make soak and make clean.

# Tools are pinned here and kept out of go.mod: they are not what the program is made of.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := v1.9.0

# How long each fuzz target runs, and which groups of benchmarks: all of them, when
# none is named, write docs/benchmarks.md.
FUZZTIME ?= 30s
BENCH    ?=

# How many seeds make soak runs the simulation with, on each store, and from which.
SEEDS ?= 1000
FROM  ?= 1

# Stamp the version only where git can tell it.
VCS := $(shell git status >/dev/null 2>&1 && echo true || echo false)

# Packages that are pure, with no goroutine of their own: they are tested without the
# race detector, which finds nothing in them and makes them ten times slower.
PURE = ./id ./refusal ./machine/... ./internal/archtest
ALL  = $(shell go list ./...)

# SQLite's engine is C turned into Go; watching each of its memory accesses is slow
# and the locks it needs are its own.
RACE = -race -gcflags='modernc.org/sqlite/lib=-race=false'

.PHONY: run test check build need bench fuzz soak vuln lint arrows clean

# Once a run has ended, the next one is on another board of the same data folder.
run: build
	bin/slate run --new examples/incident

test: need check build
	go test -timeout 20m $(PURE)
	CGO_ENABLED=1 go test -timeout 20m $(RACE) $(filter-out $(shell go list $(PURE)),$(ALL))

build:
	go build -buildvcs=$(VCS) -o bin/slate ./cmd/slate
	go build -buildvcs=$(VCS) -o examples/incident/bin/ ./examples/incident/agents/...
	go build -buildvcs=$(VCS) -o examples/triage/bin/ ./examples/triage/agents/...

need:
	build/need.sh cc python3 $(if $(wildcard internal/pgtest),postgres)

# What can be said of the code without running it.
check: arrows lint vuln

lint:
	@unformatted=$$(gofmt -l .) && test -z "$$unformatted" || \
		{ echo "gofmt: run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

arrows:
	go test ./internal/archtest

vuln:
	@build/vuln.sh $(GOVULNCHECK)

bench:
	go run ./internal/bench -run '$(BENCH)' -out docs/benchmarks.md

fuzz:
	build/fuzz.sh $(FUZZTIME)

# The whole system under seeded faults, for as long as that many seeds take.
soak:
	cd internal/sim && go test -timeout 0 -count 1 -run '^TestSim$$' -seeds $(SEEDS) -from $(FROM) -steps 2500

# Removes what make built and the records of make run, so that the next one begins anew.
clean:
	rm -rf bin examples/*/bin examples/*/.slate examples/*/.slate.authority*
