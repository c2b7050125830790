# make            builds everything and makes a ready tree in dist/
# make demo       four ranks, two of them killed, the right answer: needs only Rust and a C compiler
# make check      the tests; the last line counts passed, failed and skipped. QUICK=1: a few minutes
# make check-all  also the tests that take long, or need tools that few machines have
# make install    copies the tree to PREFIX (default /usr/local); make uninstall removes it
# make wheel      makes a package for pip; make deb: for Debian; make tarball: a tree with an environment module
# make docs       renders docs/ to HTML
# make bench      measures against the peers that are installed
# make papers     makes the figures of the papers that ftmpi comes from: two hours; FIGURES=NAME: one
# make sim        simulates SEEDS=N seeds of every protocol; shows the trace and the picture of a failure
# make fuzz       runs the tests with random input under ROUNDS=N seeds from FIRST on
# make verify     checks format, lints, style and generated files; changes nothing
# make headers    generates include/generated after a change of the table or the preamble
CARGO ?= cargo
PREFIX ?= /usr/local
DESTDIR ?=
CARGO_TARGET_DIR ?= target
DIST ?= dist
RELEASE := $(CARGO_TARGET_DIR)/release
# The generator of headers and the simulator are not installed.
BUILD := RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/tools/rustc-library.sh RUSTFLAGS="$(RUSTFLAGS) -C embed-bitcode=yes" \
    $(CARGO) build --release
EVERYTHING := --workspace --exclude ftmpi-headers --exclude ftmpi-sim
# The crates that the demonstration runs: no Fortran, no second binary interface, no object store.
DEMO_CRATES := -p ftmpiexec -p ftmpi-servers -p ftmpi-top -p ftmpi-boot -p ftmpi-abi --no-default-features
DEMO_CLASS ?= A
# Where packages are written.
PACKAGES ?= $(CARGO_TARGET_DIR)/packages
# For `make sim`. SIM takes more options, for example SIM='--protocol causal'.
SEEDS ?= 10000
FIRST ?= 1
ROUNDS ?= 50
SIM ?=
# For `make papers`: papers or figures (`npb-harness/figures.py --list`).
FIGURES ?=

.PHONY: all build install uninstall wheel deb tarball demo docs check check-all bench papers sim fuzz verify headers setup clean

all: build

build:
	$(BUILD) $(EVERYTHING)
	tools/make_dist.sh $(RELEASE) $(DIST)

install: build
	DESTDIR="$(DESTDIR)" tools/install.sh $(DIST) $(PREFIX)

uninstall:
	DESTDIR="$(DESTDIR)" tools/install.sh --remove $(PREFIX)

wheel: build
	packaging/wheel.py $(DIST) $(PACKAGES)

deb: build
	packaging/deb.sh $(DIST) $(PACKAGES)

tarball: build
	packaging/tarball.sh $(DIST) $(PACKAGES)

setup:
	tools/setup.sh full

# Compiled like `make`, so that a later `make` compiles only the crates that the demonstration leaves out.
demo:
	tools/setup.sh minimal
	$(BUILD) $(DEMO_CRATES)
	@PARTS=demo tools/make_dist.sh $(RELEASE) $(DIST)
	tools/demo.sh $(DIST) $(DEMO_CLASS)

# The packages of the Python registry are installed during the compilation.
check:
ifdef QUICK
	tools/setup.sh minimal
	$(CARGO) build --profile quick $(DEMO_CRATES) -p ftmpi-sim
	@PARTS=demo tools/make_dist.sh $(CARGO_TARGET_DIR)/quick $(CARGO_TARGET_DIR)/quick/dist
	python3 tools/check.py --quick $(CARGO_TARGET_DIR)/quick/dist
else
	-tools/setup.sh system
	@tools/setup.sh peers & $(MAKE) --no-print-directory build; code=$$?; wait; exit $$code
	python3 tools/check.py $(DIST)
endif

check-all:
	-tools/setup.sh full
	@$(MAKE) --no-print-directory build
	python3 tools/check.py --all $(DIST)

docs:
	tools/docs.sh

bench: build
	-tools/setup.sh full
	python3 npb-harness/bench.py --dist $(DIST)

# Goes on where it was interrupted: what has been measured at this commit stays in .papers.
papers: build
	$(CARGO) build --quiet --release -p ftmpi-sim
	python3 npb-harness/figures.py --dist $(DIST) --page docs/performance/papers.md $(FIGURES)

# Panics unwind, so that the simulator can still draw a seed that fails.
sim:
	$(CARGO) build --quiet --release -p ftmpi-sim --config 'profile.release.panic="unwind"'
	tools/sim.sh $(RELEASE)/ftmpi-sim $(SEEDS) $(FIRST) $(CARGO_TARGET_DIR)/sim $(SIM)
	$(RELEASE)/ftmpi-sim going-on --seeds $(SEEDS) --first $(FIRST)

fuzz:
	python3 tools/fuzz.py --rounds $(ROUNDS) --first $(FIRST)

verify:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(CARGO) run --quiet -p ftmpi-headers -- --check include/generated
	$(CARGO) run --quiet -p ftmpi-options -- --check .
	tools/style.py

headers:
	$(CARGO) run --quiet -p ftmpi-headers -- include/generated

clean:
	$(CARGO) clean
	rm -rf $(DIST)
