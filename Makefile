# ObjectVault: `make demo` and `make test` do all the set-up themselves. A bare `make` prints help.

.DEFAULT_GOAL := help
.PHONY: help deps sqlcipher4 demo test test4 sanitize fuzz torture torture4 lint format golden golden4 fixtures docs docs-serve bench bench4 bench-index bench-compare check

SWIFT ?= swift
SOURCES := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources Examples/Package.swift Examples/Sources
ENGINE4 := .build/sqlcipher4/environment
WITH4 = . ./$(ENGINE4) && 
FLAGS4 = --scratch-path .build/v4 --pkg-config-path "$$PKG_CONFIG_PATH"
# Of bench-compare: which engine both revisions are built for.
COMPARED = $(if $(filter 4,$(ENGINE)),$(WITH4))
PACKAGES = $(if $(filter 4,$(ENGINE)),--pkg-config-path "$$PKG_CONFIG_PATH")
REVISION := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
GOLDENS := PredicateSQL|Goldens|MigrationPage|Tutorial|CommandPage
# What is tried at random: texts of steps and lock files, pairs of models.
RANDOM := Fuzz|RandomSteps|RandomScripts|FolderPairs
TORTURES := Kills|Processes|KeyMemory|Faults|Signals|PackageIndex|$(RANDOM)
TORTURE = VAULT_KILLS=$(or $(KILLS),300) VAULT_SECONDS=$(or $(SECONDS),60) VAULT_PAIRS=$(or $(PAIRS),2000) \
	  VAULT_FAULTS=all VAULT_INDEX=all
ARGS ?=

help: ## this list
	@echo "ObjectVault: an encrypted object-graph store for Swift"
	@echo
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{ printf "  make %-13s %s\n", $$1, $$2 }'

deps: ## install the system packages that are missing; says which and why
	@./Scripts/deps >&2

sqlcipher4: deps ## build Debian's newer SQLCipher 4 into .build (about 75 s, once)
	@./Scripts/build-sqlcipher4 >&2

demo: deps ## build in release and run the demo
	@$(SWIFT) build -c release --product vault-demo
	@.build/release/vault-demo $(ARGS)

test: deps ## the whole test suite on the installed SQLCipher
	@./Scripts/test $(SWIFT) test $(ARGS)

test4: sqlcipher4 ## the same suite on SQLCipher 4
	@$(WITH4) ./Scripts/test $(SWIFT) test $(FLAGS4) $(ARGS)

sanitize: deps ## the suite under the thread sanitizer (SANITIZER=address: the other; ARGS="--filter Fuzz"), but for what kills processes
	@ASAN_OPTIONS=detect_leaks=0 VAULT_SECONDS=$(or $(SECONDS),10) ./Scripts/test $(SWIFT) test \
	  --sanitize=$(or $(SANITIZER),thread) --scratch-path .build/$(or $(SANITIZER),thread)-sanitizer \
	  --skip Readme --skip Examples --skip Snippets --skip Kills --skip Commands --skip KeyMemory $(ARGS)

fuzz: ## long: what is tried at random, under the address sanitizer: 300 s of each text (SECONDS=300), 300 pairs (PAIRS=300)
	@VAULT_PAIRS=$(or $(PAIRS),300) $(MAKE) --no-print-directory sanitize SANITIZER=address \
	  SECONDS=$(or $(SECONDS),300) ARGS="--filter '$(RANDOM)'"

torture: deps ## long: 300 kills in each operation (KILLS=300), 60 s of several processes (SECONDS=60), 2000 pairs of models (PAIRS=2000), all faults, whole indexes
	@$(TORTURE) ./Scripts/test $(SWIFT) test --filter '$(TORTURES)' $(ARGS)

torture4: sqlcipher4 ## the same on SQLCipher 4
	@$(WITH4) $(TORTURE) ./Scripts/test $(SWIFT) test $(FLAGS4) --filter '$(TORTURES)' $(ARGS)

lint: ## format and naming rules, by the toolchain's swift-format
	@$(SWIFT) format lint --strict --recursive --configuration .swift-format $(SOURCES) || \
	  { echo "Run: make format"; exit 1; }

format: ## put the sources into the project's format
	@$(SWIFT) format --in-place --recursive --configuration .swift-format $(SOURCES)

golden: deps ## write the golden files of the tests; review the difference
	@UPDATE_GOLDEN=1 $(SWIFT) test --filter '$(GOLDENS)'
	@git --no-pager diff --stat -- Tests

golden4: sqlcipher4 ## then what SQLCipher 4 gives another text for, in files of its own
	@$(WITH4) UPDATE_GOLDEN=1 $(SWIFT) test $(FLAGS4) --filter '$(GOLDENS)'
	@git --no-pager diff --stat -- Tests

fixtures: deps sqlcipher4 ## make the stores of a release that is not out yet anew, on both engines
	@VAULT_FIXTURES=1 $(SWIFT) test --filter FixtureStores
	@$(WITH4) VAULT_FIXTURES=1 $(SWIFT) test $(FLAGS4) --filter FixtureStores
	@git --no-pager diff --stat -- Tests

docs: deps ## build one static site of the documentation of the five libraries; warnings are errors
	@./Scripts/docs

docs-serve: docs ## show the site on this machine alone (PORT=8080)
	@echo "http://127.0.0.1:$(or $(PORT),8080)/documentation/  (Ctrl-C ends it)"
	@python3 -m http.server $(or $(PORT),8080) --bind 127.0.0.1 --directory .build/docs/site

bench: deps ## benchmarks against a hand-written loop (ARGS="--json --only 1,2")
	@$(SWIFT) build -c release --package-path Benchmarks --scratch-path .build/bench >&2
	@VAULT_REVISION=$(REVISION) .build/bench/release/vault-bench $(ARGS)

bench4: sqlcipher4 ## the same on SQLCipher 4
	@$(WITH4) $(SWIFT) build -c release --package-path Benchmarks --scratch-path .build/bench4 \
	  --pkg-config-path "$$PKG_CONFIG_PATH" >&2 && VAULT_REVISION=$(REVISION) .build/bench4/release/vault-bench $(ARGS)

bench-index: ## the package index of Debian as a graph, against a Python program (ENGINE=4: on SQLCipher 4)
	@$(MAKE) --no-print-directory bench$(ENGINE) ARGS="--package-index Benchmarks/package_index.py $(ARGS)"

bench-compare: deps $(if $(filter 4,$(ENGINE)),sqlcipher4) ## this revision against another, in pairs (REV=v1.0 ENGINE=4 ARGS="--only 1,2 --runs 9")
	@test -n "$(REV)" || { echo "Say which revision: make bench-compare REV=…"; exit 64; }
	@test -e .build/compare/.git || git worktree add --detach .build/compare $(REV) >&2
	@git -C .build/compare checkout --detach $(REV) >&2
	@$(COMPARED) $(SWIFT) build -c release --package-path .build/compare/Benchmarks \
	  --scratch-path .build/bench-compare$(ENGINE) $(PACKAGES) >&2
	@$(COMPARED) $(SWIFT) build -c release --package-path Benchmarks --scratch-path .build/bench$(ENGINE) $(PACKAGES) >&2
	@$(COMPARED) .build/bench$(ENGINE)/release/vault-bench \
	  --compare .build/bench-compare$(ENGINE)/release/vault-bench --runs 9 $(ARGS)

# With an index of symbols: SwiftPM finds the tests by it (`--disable-index-store` ends in "index store path does not exist").
check: lint ## what CI runs: lint, tests on both engines, docs; warnings are errors
	@VAULT_CHECK=1 $(MAKE) test
	@VAULT_CHECK=1 $(MAKE) test4
	@VAULT_CHECK=1 $(MAKE) docs
	@git diff --exit-code -- Tests Migrations || { echo "The checks changed files."; exit 1; }
