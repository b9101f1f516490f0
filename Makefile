# make demo needs Go alone. make test does all set-up that it needs.
export GOWORK = off

GO_BUILD = go build
.PHONY: help
help:
	@echo "make build          bin/: evenkeel, the examples, and the driver of bench-gate"
	@echo "make demo           two minutes, with Go alone: why a service is slow, whether a fix helps, collections without overlapped requests"
	@echo "make demo-haproxy   two replicas behind HAProxy, collecting under live traffic and gated: counts, a table and a page"
	@echo "make test           set-up, build, vet, the tests with the race detector, shuffled"
	@echo "make check          what takes longer: lint, the long tests, other systems and architectures, fuzzing, benchmarks once"
	@echo "make lint           golangci-lint and vale, go mod tidy and fastcgen -check over every module"
	@echo "make soak           random histories of aio, httpd, gcgate, gctrace and fastc, each for an hour (SOAK=2m: two minutes)"
	@echo "make flake          all tests ROUNDS=3 times with 1, 2 and 4 processors beside busy loops, to find those that fail by chance"
	@echo "make golden         write the golden files again, from real programs under real toolchains, and the record of the public API"
	@echo "make release-check  what VERSION=v0.1.0 would publish: clean tree, API record, licences, builds from module zips alone"
	@echo "make clean          remove what the targets have built"
	@echo "make bench       bench-gc, -load, -gate, -aio, -httpd, -fastc, -explain, -tailstat and -recorder: each figure with its target, raw results in bench/results"
	@echo "make bench-fix   a service slow and fixed, three minutes: the rounds that README.md shows"
	@echo "make bench-aio   aio beside its peers, over an hour; QUICK=1: some minutes; PART=hostile: that part (echo, accept, idle, hostile)"
	@echo "make bench-httpd httpd beside net/http and others, an hour; QUICK=1: some minutes; ONLY=idle,hostile: these rows"
	@echo "make bench-fastc calls of C: fastc beside cgo, purego and fastcgo's technique; QUICK=1: a minute"
	@echo "make bench-explain  reqtrace on services with known causes, fifty minutes; QUICK=1: three"
	@echo "make bench-explain-suite  sixty causes planted into programs that do not tell them, ten minutes"
	@echo "make bench-explain-real  the same in Caddy, etcd, gRPC, SQLite and Prometheus' TSDB, which it downloads"
	@echo "make bench-tailstat  package tailstat on synthetic services and recorded runs, ten minutes; RECORD=1: record them anew, 50 minutes more"
	@echo "make bench-recorder  what reqtrace/recorder costs a service, what it does under faults, and whether it is right about planted causes, an hour"

.PHONY: build
build:
	@mkdir -p bin/recorder
	@$(GO_BUILD) -o bin/ ./cmd/...
	@cd bench && $(GO_BUILD) -o ../bin/ ./gate ./gate/peer ./gate/subject && $(GO_BUILD) -o ../bin/recorder/ ./recorder/plant
	@cd examples && $(GO_BUILD) -o ../bin/ ./search ./hello ./msgpush ./raftkv ./echoserver ./websockets ./fastcserver ./wholepath

# Without cgo it needs no C compiler. Without the debugger's data it compiles a sixth faster.
DEMO_BUILD = CGO_ENABLED=0 $(GO_BUILD) -gcflags=all=-dwarf=false -ldflags=-w
.PHONY: demo demo-haproxy
demo:
	@echo "building three programs: up to a minute the first time"
	@$(DEMO_BUILD) -o bin/ ./cmd/evenkeel
	@cd examples && $(DEMO_BUILD) -o ../bin/ ./search ./hello
	@bin/evenkeel demo

# The rounds of "Did the fix help?" in README.md.
.PHONY: bench-fix
bench-fix:
	@$(GO_BUILD) -buildvcs=true -o bin/ ./cmd/evenkeel
	@cd examples && $(GO_BUILD) -o ../bin/ ./search ./hello
	bin/evenkeel demo -record bench/results/fix-$(shell date -u +%Y-%m-%d-%H%M).json

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
	go test ./gctrace ./reqtrace ./reqtrace/verdict ./cmd/evenkeel/internal/compare ./cmd/evenkeel/internal/page ./cmd/evenkeel/internal/exchange ./cmd/fastcgen ./cmd/fastcgen/internal/reach -update
	go test -trimpath ./cmd/evenkeel -update
	tools/api -write
	cd tools && go run ./release licences >../docs/reference/licences.md

# What a tag would publish, tried before it is: see tools/release.
VERSION ?= v0.1.0
.PHONY: release-check
release-check:
	go test ./internal/tidy
	tools/api
	cd tools && go run ./release -version $(VERSION) check

.PHONY: clean
clean:
	rm -rf bin .bin

.PHONY: bench-recorder bench bench-gc bench-load bench-gate bench-aio build-aio bench-fastc bench-explain bench-explain-suite bench-explain-real build-explain-suite bench-tailstat bench-httpd
bench: bench-gc bench-load bench-gate bench-aio bench-httpd bench-fastc bench-explain bench-tailstat bench-recorder

bench-gc: build
	cd bench && go run ./gc

bench-load: build
	cd bench && $(GO_BUILD) -o ../bin/ tool ./load/server ./load/loadgrpc
	cd bench && go run ./load

# PART=haproxy: that part alone; QUICK=1: is everything there? ORIGINAL=DIR has the source of gci-go v0.2, for the parts hello, shedding and literal.
bench-gate: build
	@.ci/setup haproxy nginx etcd envoy
	cd bench && ../bin/gate $(if $(QUICK),-quick) $(if $(ORIGINAL),-original $(abspath $(ORIGINAL))) $(if $(PART),-part $(PART))
	$(if $(PART),,cd bench && ../bin/gate $(if $(QUICK),-quick -n 3000) -part faults)

# PART=hostile: that part alone, of echo, accept, idle and hostile; QUICK=1: six minutes instead of an hour and more.
bench-aio: build-aio
	cd bench && ../bin/aio/driver $(if $(QUICK),-quick) $(if $(PART),-part $(PART))

# ONLY=idle,hostile: these rows alone; QUICK=1: some minutes instead of an hour, nothing kept.
bench-httpd:
	@mkdir -p bin/httpd
	@cd bench && $(GO_BUILD) -o ../bin/httpd/driver ./httpd && $(GO_BUILD) -o ../bin/httpd/ ./httpd/server ./httpd/client
	cd bench && ../bin/httpd/driver $(if $(QUICK),-quick) $(if $(ONLY),-only $(ONLY))

# QUICK=1: a minute instead of ten, nothing kept.
bench-fastc: build
	cd bench && $(GO_BUILD) -o ../bin/bench-fastc ./fastc && ../bin/bench-fastc $(if $(QUICK),-quick)

build-aio:
	@mkdir -p bin/aio && rm -f bin/aio/cepoll
	@cd bench && $(GO_BUILD) -o ../bin/aio/driver ./aio && $(GO_BUILD) -o ../bin/aio/ ./aio/server ./aio/client
	@if command -v cc >/dev/null; then cc -O2 -Wall -o bin/aio/cepoll bench/aio/cepoll/cepoll.c; \
	else echo "no C compiler: install gcc for the limit in C"; fi

bench-tailstat:
	@mkdir -p bin/tailstat
	@cd examples && $(GO_BUILD) -o ../bin/tailstat/ ./search ./msgpush ./hello
	@cd bench && $(GO_BUILD) -o ../bin/tailstat/driver ./tailstat
	$(if $(RECORD),cd bench && ../bin/tailstat/driver -part record)
	cd bench && ../bin/tailstat/driver

# ONLY=faults: that part alone; ONLY=soak: an hour that is no part of the whole. QUICK=1: is everything there?
bench-recorder:
	@mkdir -p bin/recorder
	@cd examples && $(GO_BUILD) -o ../bin/recorder/ ./hello ./search ./msgpush
	@$(GO_BUILD) -o bin/recorder/ ./cmd/evenkeel
	@cd bench && $(GO_BUILD) -o ../bin/recorder/ ./recorder/plant && $(GO_BUILD) -o ../bin/recorder/driver ./recorder
	cd bench && ../bin/recorder/driver $(if $(QUICK),-quick) $(if $(ONLY),-only $(ONLY))

# QUICK=1: three minutes instead of fifty. The plants bear no names.
bench-explain:
	@mkdir -p bin/explain
	@cd examples && $(GO_BUILD) -o ../bin/explain/ ./search ./msgpush
	@cd bench && $(GO_BUILD) -ldflags=-s -o ../bin/explain/ ./explain/plant && $(GO_BUILD) -o ../bin/explain/driver ./explain
	cd bench && ../bin/explain/driver $(if $(QUICK),-quick)

build-explain-suite:
	@mkdir -p bin/explain
	@cd bench && $(GO_BUILD) -o ../bin/explain/ ./explain/suite
	@cd bench && $(GO_BUILD) -trimpath -ldflags=-s -o ../bin/explain/ ./explain/suite/shop ./explain/suite/feed ./explain/suite/clerk ./explain/suite/edge ./explain/suite/press
	@cd bench/explain/real && $(GO_BUILD) -ldflags=-s -o ../../../bin/explain/ ./accounts ./depot

bench-explain-suite: build-explain-suite
	cd bench && ../bin/explain/suite

bench-explain-real: build-explain-suite
	@cd bench/explain/real && $(GO_BUILD) -ldflags=-s -o ../../../bin/explain/ ./...
	cd bench && ../bin/explain/suite -real -markdown
