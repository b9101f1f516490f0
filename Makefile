# make demo needs Go alone. make test does all set-up that it needs.
export GOWORK = off

GO_BUILD = go build
.PHONY: help
help:
	@echo "make build          bin/: evenkeel, fastcgen and the examples"
	@echo "make demo           two minutes, with Go alone: why a service is slow, whether a fix helps, collections without overlapped requests"
	@echo "make demo-haproxy   two replicas behind HAProxy, collecting under live traffic and gated: counts, a table and a page"
	@echo "make test           set-up, build, the tests, shuffled"
	@echo "make check          what takes longer: lint, race detector, long tests, other systems and architectures, fuzzing, benchmarks once"
	@echo "make lint           golangci-lint and vale, go mod tidy and fastcgen -check over every module"
	@echo "make soak           random histories of aio, httpd, gcgate, gctrace and fastc, each for an hour (SOAK=2m: two minutes)"
	@echo "make flake          all tests ROUNDS=3 times with 1, 2 and 4 processors next to busy loops, to find those that fail by chance"
	@echo "make golden         write the golden files again, from real programs under real toolchains, and the record of the public API"
	@echo "make release-check  what VERSION=v0.1.0 would publish: clean tree, API record, licences, builds from module zips alone"
	@echo "make release        what release-check passes, as dist/: the command for six systems, with checksums"
	@echo "make clean          remove what the targets have built"
	@echo "make bench          what README.md and docs claim: RUN=gate/haproxy for one case, FLAGS=-list for all, QUICK=1 to try one"

.PHONY: build
build:
	@$(GO_BUILD) -o bin/ ./cmd/...
	@cd examples && $(GO_BUILD) -o ../bin/ ./search ./hello ./msgpush ./raftkv ./echoserver ./websockets ./fastcserver ./wholepath

# Without cgo it needs no C compiler. Without the debugger's data it compiles a sixth faster.
DEMO_BUILD = CGO_ENABLED=0 $(GO_BUILD) -gcflags=all=-dwarf=false -ldflags=-w
.PHONY: demo demo-haproxy
demo:
	@echo "building three programs: up to a minute the first time"
	@$(DEMO_BUILD) -o bin/ ./cmd/evenkeel
	@cd examples && $(DEMO_BUILD) -o ../bin/ ./search ./hello
	@bin/evenkeel demo

demo-haproxy:
	@examples/msgpush/demo.sh

.PHONY: test check
test:
	@.ci/test

# FUZZTIME=1m: a minute for each fuzz target.
export FUZZTIME ?= 3s
check:
	@.ci/test check

.PHONY: lint
lint:
	@go -C tools build -o ../.bin/ tool
	@.ci/lint

# Bounded: SOAK=2m for a short one. It leaves most of the machine to others.
SOAK ?= 1h
SOAKING = EVENKEEL_TEST=$(SOAK) go test -count=1 -v -timeout 0
.PHONY: soak
soak:
	$(SOAKING) -run '^(TestSoak.*|TestSimulation|TestPrograms.*|TestDifferential)$$' ./aio/... ./httpd ./gcgate ./gctrace ./fastc
	cd e2e && $(SOAKING) -run '^TestRestarts$$' .

# ROUNDS=1: fewer rounds. RUN=./aio/...: these packages of the root module alone.
ROUNDS ?= 3
.PHONY: flake
flake:
	@.ci/flake $(ROUNDS) $(RUN)

.PHONY: golden
golden:
	gctrace/testdata/gen.sh
	reqtrace/testdata/gen.sh
	cmd/evenkeel/internal/exchange/testdata/gen.sh
	cd examples && go generate ./...
	cd bench && go generate ./fastc/...
	cd bench && go test -run TestPage . -update
	go test ./gctrace ./reqtrace ./internal/golden ./internal/verdict ./cmd/evenkeel/internal/compare ./cmd/evenkeel/internal/page ./cmd/evenkeel/internal/exchange ./cmd/fastcgen ./cmd/fastcgen/internal/reach -update
	go test -trimpath ./cmd/evenkeel ./cmd/evenkeel/internal/explain ./cmd/evenkeel/internal/gclog ./cmd/evenkeel/internal/observe -update
	tools/api -write
	tools/licences >docs/reference/licences.md

# What a tag would publish, tried before it is: see tools/release.
VERSION ?= v0.1.0
.PHONY: release-check release
release-check:
	go test ./internal/tidy
	tools/api
	tools/release $(VERSION)

# A checkout of the tag gives the command its version. The same commit and Go give the same bytes.
SYSTEMS = linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64.exe windows-arm64.exe
release: release-check
	@rm -rf dist
	@set -e; for s in $(SYSTEMS); do arch=$${s#*-}; \
		CGO_ENABLED=0 GOOS=$${s%%-*} GOARCH=$${arch%.exe} go build -buildvcs=true -trimpath -ldflags='-s -w' \
			-o dist/evenkeel-$$s ./cmd/evenkeel; done
	@cd dist && sha256sum evenkeel-* >SHA256SUMS && cat SHA256SUMS

.PHONY: clean
clean:
	rm -rf bin .bin dist

# RUN=gate/haproxy or RUN='gate/*': these cases alone. QUICK=1: one short round of each, and nothing is
# saved. FLAGS=-list: every claim, with its case.
.PHONY: bench
bench:
	@cd bench && $(GO_BUILD) -o ../bin/bench . && ../bin/bench $(if $(RUN),-run '$(RUN)') $(if $(QUICK),-quick) $(FLAGS)
