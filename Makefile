# Every task of the repository. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help run test test-kube kube kube-up soak bench fmt lint generate verify

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Run the whole thing without a cluster (not there yet)
	@echo "make run: there is no server to run yet: the embedded cluster is not built" >&2; exit 1

test: ## Run all tests that need nothing but Rust
	cargo test --locked --workspace

test-kube: kube ## Run the suites against a real Kubernetes API server, built on first use
	ANNEAL_TEST_SERVER=kube cargo test --locked --workspace --test conformance
	cargo xtask schema --check

kube: ## Build the Kubernetes programs that test-kube needs (once, 7 to 10 minutes)
	@hack/kube/build

kube-up: ## Run a Kubernetes control plane until Ctrl-C and print its kubeconfig
	@hack/kube/up

soak: ## Run the long sweeps (not there yet)
	@echo "make soak: there is nothing to soak yet: no controller is built" >&2; exit 1

bench: ## Measure speed and memory (not there yet)
	@echo "make bench: there is nothing to measure yet: no server and no controller is built" >&2; exit 1

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
	@test -z "$$(git status --porcelain)" || { git status --short; echo "make verify: the work tree is not clean" >&2; exit 1; }
