# make            builds everything and lays a ready tree in dist/
# make install    copies the tree to PREFIX (default /usr/local)
# make demo       four ranks, two of them killed, the right answer: needs only Rust and a C compiler
# make check      all tests; the last line counts passed, failed and skipped
# make bench      measures against the peers that are installed
# make sim        simulates SEEDS=N seeds of every protocol; shows the trace and the picture of one that fails
# make fuzz       runs the tests with random input under ROUNDS=N seeds from FIRST on
# make verify     format, lints, generated files: changes nothing
# make headers    generates include/generated anew after a change of the table or the preamble
CARGO ?= cargo
PREFIX ?= /usr/local
DESTDIR ?=
CARGO_TARGET_DIR ?= target
DIST ?= dist
RELEASE := $(CARGO_TARGET_DIR)/release
# The header generator and the simulator are not part of what is installed; libmpi.so.12 has a profile of
# its own.
TOOLS := --exclude ftmpi-headers --exclude ftmpi-sim --exclude ftmpi-abi
DEMO_CLASS ?= A
# For `make sim`; SIM takes more options, as in SIM='--protocol causal'.
SEEDS ?= 10000
FIRST ?= 1
ROUNDS ?= 50
SIM ?=

.PHONY: all build install demo check bench sim fuzz verify headers setup clean

all: build

build:
	$(CARGO) build --release --workspace $(TOOLS)
	$(CARGO) build --profile library -p ftmpi-abi
	tools/lay.sh $(RELEASE) $(DIST) $(CARGO_TARGET_DIR)/library

install: build
	mkdir -p $(DESTDIR)$(PREFIX)
	cp -R --no-dereference --remove-destination $(DIST)/. $(DESTDIR)$(PREFIX)/

setup:
	tools/setup.sh full

demo:
	tools/setup.sh minimal
	@$(MAKE) --no-print-directory build
	tools/demo.sh $(DIST) $(DEMO_CLASS)

# The packages of the Python registry come while everything is compiled.
check:
	-tools/setup.sh system
	@tools/setup.sh peers & $(MAKE) --no-print-directory build; code=$$?; wait; exit $$code
	python3 tools/check.py $(DIST)

bench: build
	-tools/setup.sh full
	python3 npb-harness/bench.py --dist $(DIST)

# With panics that unwind: a seed that fails can still be drawn.
sim:
	$(CARGO) build --quiet --release -p ftmpi-sim --config 'profile.release.panic="unwind"' --config 'profile.release.lto=false'
	tools/sim.sh $(RELEASE)/ftmpi-sim $(SEEDS) $(FIRST) $(CARGO_TARGET_DIR)/sim $(SIM)

fuzz:
	python3 tools/fuzz.py --rounds $(ROUNDS) --first $(FIRST)

verify:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(CARGO) run --quiet -p ftmpi-headers -- --check include/generated

headers:
	$(CARGO) run --quiet -p ftmpi-headers -- include/generated

clean:
	$(CARGO) clean
	rm -rf $(DIST)
