# make demo and make test do all set-up that they need.
export GOWORK = off

GO_BUILD = go build -trimpath
FUZZTIME ?= 5s

.PHONY: help
help:
	@echo "make demo        run the search service in four ways, then two replicas stock and gated: tables and pages"
	@echo "make test        all checks: lint, tests with the race detector, browser, fuzzing, benchmarks once"
	@echo "make lint        gofumpt, go vet, staticcheck, go mod tidy over every module"
	@echo "make golden      write the golden files again, from real programs under real toolchains"
	@echo "make bench       bench-gc, bench-load and bench-gate: each figure with its target, raw results in bench/results"
	@echo "make build       bin/: evenkeel, the examples, and the driver of bench-gate"

.PHONY: build
build:
	@$(GO_BUILD) -o bin/ ./cmd/...
	@cd examples && $(GO_BUILD) -o ../bin/ ./search ./hello ./msgpush
	@cd bench && $(GO_BUILD) -o ../bin/ ./gate ./gate/peer

.PHONY: demo
demo: build
	@examples/search/demo.sh
	@bench/gate/demo.sh

.PHONY: test
test:
	@.ci/stage setup .ci/setup
	@.ci/stage lint .ci/lint
	@.ci/stage "tests (race, shuffle)" env EVENKEEL_E2E=1 .ci/modules go test -race -shuffle=on ./...
	@.ci/stage "fuzzing ($(FUZZTIME) a target)" .ci/modules "$(CURDIR)/.ci/fuzz" $(FUZZTIME)
	@.ci/stage "benchmarks once" .ci/modules go test -run '^$$' -bench . -benchtime 1x ./...

.PHONY: lint
lint:
	@.ci/lint

.PHONY: golden
golden:
	gctrace/testdata/gen.sh
	cd examples && go generate ./...
	go test ./gctrace ./internal/report -update

.PHONY: bench bench-gc bench-load bench-gate
bench: bench-gc bench-load bench-gate

bench-gc: build
	cd bench && go run ./gc

bench-load: build
	cd bench && $(GO_BUILD) -o ../bin/ tool ./load/server
	cd bench && go run ./load

bench-gate: build
	cd bench && ../bin/gate
	cd bench && ../bin/gate -faults
