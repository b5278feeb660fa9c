# ObjectVault: `make demo` and `make test` do all the set-up themselves. A bare `make` prints help.

.DEFAULT_GOAL := help
.PHONY: help deps sqlcipher4 demo test quick test4 headers4 sanitize fuzz torture torture4 lint format golden golden4 fixtures docs docs-serve bench bench4 bench-index bench-compare check

SWIFT ?= swift
SOURCES := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources Examples/Package.swift Examples/Sources
# Makes a program that was built with SQLCipher 3.4.1 load 4.x.
WITH4 = . ./.build/sqlcipher4/environment &&
WITH = $(if $(filter 4,$(ENGINE)),$(WITH4))
REVISION := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
GOLDENS := PredicateSQL|LinkIndexes|Goldens|FailedRunScreens|MigrationPage|Tutorial|CommandPage
# The tags of the suites whose long form is `make torture`.
LONG := kills,processes,faults,random,sampled
# The tests' files are on a disk: in memory, they would leave little memory for the tests.
TORTURE = VAULT_LONG=1 TMPDIR=$(or $(TMPDIR),/tmp) $(if $(KILLS),VAULT_KILLS=$(KILLS)) $(if $(SECONDS),VAULT_SECONDS=$(SECONDS)) \
	  $(if $(PAIRS),VAULT_PAIRS=$(PAIRS))
ARGS ?=

help: ## this list
	@echo "ObjectVault: an encrypted object-graph store for Swift"
	@echo
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{ printf "  make %-13s %s\n", $$1, $$2 }'

deps: ## install the system packages that are missing, and print which and why
	@./Scripts/deps >&2

sqlcipher4: deps ## build Debian's newer SQLCipher 4 into .build (about a minute, once)
	@./Scripts/build-sqlcipher4 >&2

demo: deps ## build and run the demo
	@echo "Building the demo: two to three minutes the first time, on two cores." >&2
	@$(SWIFT) build --product vault-demo >&2
	@.build/debug/vault-demo $(ARGS)

test: deps ## the whole test suite on the installed SQLCipher (ARGS="--filter Fetch": a part of it)
	@./Scripts/test $(ARGS)

quick: deps ## about a minute after the build: skips slow and documentation suites, and those of make torture
	@./Scripts/test --without slow,documents,$(LONG) $(ARGS)

test4: deps sqlcipher4 ## the tests that open a database, on SQLCipher 4
	@$(WITH4) ./Scripts/test --without pure $(ARGS)

headers4: deps sqlcipher4 ## compile CipherSQLite against the header of SQLCipher 4
	@PKG_CONFIG_PATH=$(CURDIR)/.build/sqlcipher4/lib/pkgconfig $(SWIFT) build --target CipherSQLite \
	  --scratch-path .build/headers4 --disable-index-store -debug-info-format none \
	  --pkg-config-path $(CURDIR)/.build/sqlcipher4/lib/pkgconfig

sanitize: deps ## the tests under the thread sanitizer (SANITIZER=address for the other); skips kill and documentation tests
	@ASAN_OPTIONS=detect_leaks=0 VAULT_SECONDS=$(or $(SECONDS),10) ./Scripts/test \
	  --sanitize=$(or $(SANITIZER),thread) --scratch-path .build/$(or $(SANITIZER),thread)-sanitizer \
	  --without documents,kills $(ARGS)

fuzz: ## long: random suites under the address sanitizer; 300 s each (SECONDS=), 300 model pairs (PAIRS=)
	@VAULT_PAIRS=$(or $(PAIRS),300) $(MAKE) --no-print-directory sanitize SANITIZER=address \
	  SECONDS=$(or $(SECONDS),300) ARGS="--only random $(ARGS)"

torture: deps ## hours: the long forms; 300 kills per operation (KILLS=), 60 s of processes (SECONDS=), 500 pairs (PAIRS=)
	@$(TORTURE) ./Scripts/test --only $(LONG) $(ARGS)

torture4: deps sqlcipher4 ## the same on SQLCipher 4
	@$(WITH4) $(TORTURE) ./Scripts/test --only $(LONG) $(ARGS)

lint: ## format and naming rules, by the toolchain's swift-format
	@$(SWIFT) format lint --strict --recursive --configuration .swift-format $(SOURCES) || \
	  { echo "Run: make format"; exit 1; }

format: ## put the sources into the project's format
	@$(SWIFT) format --in-place --recursive --configuration .swift-format $(SOURCES)

golden: deps ## write the golden files of the tests; review the difference
	@UPDATE_GOLDEN=1 ./Scripts/test --filter '$(GOLDENS)'
	@git --no-pager diff --stat

golden4: deps sqlcipher4 ## write the golden files that differ on SQLCipher 4; run it after golden
	@$(WITH4) UPDATE_GOLDEN=1 ./Scripts/test --filter '$(GOLDENS)'
	@git --no-pager diff --stat

fixtures: deps sqlcipher4 ## make the stores of the coming release again, on both engines
	@VAULT_FIXTURES=1 ./Scripts/test --filter FixtureStores
	@$(WITH4) VAULT_FIXTURES=1 ./Scripts/test --filter FixtureStores
	@git --no-pager diff --stat

docs: deps ## build one static site of the documentation of the five libraries; warnings are errors
	@./Scripts/docs

docs-serve: docs ## show the site on this machine alone (PORT=8080)
	@echo "http://127.0.0.1:$(or $(PORT),8080)/documentation/  (Ctrl-C ends it)"
	@python3 -m http.server $(or $(PORT),8080) --bind 127.0.0.1 --directory .build/docs/site

bench: deps $(if $(filter 4,$(ENGINE)),sqlcipher4) ## benchmarks against a hand-written loop (ARGS="--json --only 1,2" ENGINE=4)
	@$(SWIFT) build -c release --package-path Benchmarks --scratch-path .build/bench >&2
	@$(WITH) VAULT_REVISION=$(REVISION) .build/bench/release/vault-bench $(ARGS)

bench4: ## the same on SQLCipher 4
	@$(MAKE) --no-print-directory bench ENGINE=4

bench-index: ## the package index of Debian as a graph, against a Python program (ENGINE=4: on SQLCipher 4)
	@$(MAKE) --no-print-directory bench ARGS="--package-index Benchmarks/package_index.py $(ARGS)"

bench-compare: deps $(if $(filter 4,$(ENGINE)),sqlcipher4) ## this revision against another, in pairs (REV=v1.0 ENGINE=4 ARGS="--only 1,2 --runs 9")
	@test -n "$(REV)" || { echo "Say which revision: make bench-compare REV=…"; exit 64; }
	@test -e .build/compare/.git || git worktree add --detach .build/compare $(REV) >&2
	@git -C .build/compare checkout --detach $(REV) >&2
	@$(SWIFT) build -c release --package-path .build/compare/Benchmarks --scratch-path .build/bench-compare >&2
	@$(SWIFT) build -c release --package-path Benchmarks --scratch-path .build/bench >&2
	@$(WITH) .build/bench/release/vault-bench --compare .build/bench-compare/release/vault-bench --runs 9 $(ARGS)

check: ## what CI runs: lint, tests on both engines, documentation, no changed files; warnings are errors; prints stage times
	@VAULT_CHECK=1 ./Scripts/check
