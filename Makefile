# Shortcuts. What they do is in the scripts and in the go command.

BENCH ?= .
COUNT ?= 10

.PHONY: check bench

check: ## exactly what CI runs
	.ci/run

bench: ## numbers for benchstat: make bench BENCH=Get >new.txt
	@go test -run='^$$' -bench='$(BENCH)' -benchmem -count=$(COUNT) -timeout=0 ./...
