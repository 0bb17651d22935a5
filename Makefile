# Every task of the repository. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help run test test-kube kube kube-up soak fuzz bench fmt lint generate verify

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Run the whole thing without a cluster, until Ctrl-C
	cargo run --locked --package anneal -- up

test: ## Run all tests that need nothing but Rust
	cargo test --locked --workspace

test-kube: kube ## Run the suite on a real Kubernetes API server, built on first use, and foreign clients on it and ours
	cargo build --locked --workspace --bin anneal --bin anneal-soak
	ANNEAL_TEST_SERVER=kube cargo test --locked --workspace --test conformance
	ANNEAL_TEST_SERVER=both ANNEAL_BIN=$(CURDIR)/target/debug/anneal cargo test --locked --workspace --test clients
	target/debug/anneal-soak diff --runs 500
	cargo xtask schema --check
	cargo xtask defaults --check
	cargo xtask protobuf --check

kube: ## Build the Kubernetes programs that test-kube needs (once, 8 to 12 minutes)
	@hack/kube/build

kube-up: ## Run a Kubernetes control plane until Ctrl-C and print its kubeconfig
	@hack/kube/up

soak: kube ## Send 10,000 random sequences of writes to a real API server and to ours; crash the store at length; seed faults
	cargo xtask faults
	cargo run --locked --package anneal-soak -- diff --runs 10000
	ANNEAL_SOAK=1 cargo test --locked --package anneal-embedded store

# How long each fuzz target runs, and which: all of them unless named.
FUZZ_SECONDS ?= 600
FUZZ_TARGETS ?=

fuzz: ## Throw random bytes at every parser of the embedded API (FUZZ_SECONDS, FUZZ_TARGETS)
	cargo xtask fuzz --seconds $(FUZZ_SECONDS) $(FUZZ_TARGETS)

bench: kube ## Measure speed, CPU and memory beside a real API server
	cargo build --locked --release --package anneal --package anneal-bench
	ANNEAL_BIN=$(CURDIR)/target/release/anneal target/release/anneal-bench

fmt: ## Format the code
	cargo fmt --all

lint: ## Check format, clippy's findings and dependencies
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- --deny warnings
	cargo xtask deny

generate: ## Write the generated files
	cargo xtask generate

verify: lint ## Check all that can be checked without running tests, and that the work tree is clean
	cargo xtask generate --check
	cargo xtask faults --check
	@cargo metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml > /dev/null
	@test -z "$$(git status --porcelain)" || { git status --short; echo "make verify: the work tree is not clean" >&2; exit 1; }
