# trimtab: see README.md. `make test` runs what a change has to pass; `make demo` shows what it is good for.
SHELL := /bin/bash
STAGE := ./lab/stage.sh

.PHONY: install uninstall packages test-install test-packages test-reproducible demo attack format compile experiments test test-full deps build fuzz-full lint unit fuzz-smoke guest guest-checks guest-trims lab docs bench bench-driver bench-defects bench-trim bench-ssd release deny fuzz clean test-ssd test-crash crash completeness test-servers servers test-versions test-desired cases test-schedules bench-explain compare compare-speed compare-moves house nightly test-ansible test-kubernetes test-monitoring test-fleet bench-filesystems livefix test-livefix bench-livefix test-crafted

demo: release
	@./lab/demo/demo.sh

# A static binary: no libraries wanted on the host that it looks at.
release:
	@./lab/release.sh

# What `make release` built, with man pages, completions and units; nothing is enabled: DESTDIR= PREFIX=/usr.
install uninstall:
	@./packaging/install.sh $@

test-install: build
	@./packaging/test-install.sh

# A deb, an rpm, an archive and a container image, in target/packages: needs Go and Python 3.11. For other machines as well:
# TARGETS=aarch64-unknown-linux-gnu, with gcc-aarch64-linux-gnu.
packages: release
	@for target in $(TARGETS); do ./lab/release.sh $$target || exit; done
	@./packaging/build.sh $(TARGETS)

# In fresh Debians and a root of rpm: needs root, and what it names. Takes TARGETS, with qemu-user-static.
test-packages: release
	@for target in $(TARGETS); do ./lab/release.sh $$target || exit; done
	@./packaging/test-packages.sh $(TARGETS)

# The release binary, built once more in another clone, to the byte: two builds, ten minutes.
test-reproducible: release
	@./packaging/test/reproducible.sh

# What the stages compile is linted on the way: clippy is rustc with lints, and its own compilation of everything took as
# long as that of the tests.
test: export RUSTC_WORKSPACE_WRAPPER := clippy-driver
test: export CLIPPY_ARGS := -Dwarnings
# Guests compute on one core; tests of devices, killed passes and servers mostly wait: beside each other they keep both
# cores busy. What measures runs alone.
test: deps
	@$(STAGE) --begin
	@$(STAGE) format 10
	@$(STAGE) compile 480
	@$(STAGE) fuzz-smoke 150
	@$(STAGE) --beside unit:600 -- guest-checks:600 guest-trims:360 \
		-- servers:300 crash:360 completeness:120 livefix:120 test-install:60
	@$(STAGE) experiments 150
	@$(STAGE) cases 150
	@$(STAGE) --summary

# What `make test` has no time for, or only for a part of: measurements, and many more of the same. Hours.
test-full: test deny fuzz-full lab test-packages test-ssd test-schedules test-versions test-desired test-crash test-crafted test-servers test-livefix test-ansible test-kubernetes test-monitoring test-fleet

# Hostile users' files, bundles, histories, cluster states and servers against the static binary, with counts and
# peak memory by command: needs root and python3, minutes. Another build: TRIMTAB=/somewhere/trimtab.
attack: release
	@./lab/attack/run.py "$${TRIMTAB:-$${CARGO_TARGET_DIR:-target}/static/trimtab}"

format:
	cargo fmt --all --check

lint: format
	cargo clippy --workspace --all-targets --locked -- -D warnings

# Everything that the stages of `make test` run.
compile:
	@cargo test --workspace --locked --no-run
	@./lab/build.sh

# Examples are built, so that they are linted; those with `test = true` are run as well. Many tests wait for devices, so
# more of them run at a time than there are cores.
unit:
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-8} cargo test --workspace --locked

# Random and mutated inputs through every parser: a million, but no more than six seconds for each.
fuzz-smoke: build
	@$${CARGO_TARGET_DIR:-target}/debug/fuzz-targets --inputs 1000000 --seconds 6 --seed 1

# A million for each of them, however long that takes: minutes. Others: SEED=2.
fuzz-full: build
	@$${CARGO_TARGET_DIR:-target}/debug/fuzz-targets --inputs 1000000 --seed $(or $(SEED),1)

# What the tests need beside Rust, installed or named. The house's tests list the crates of all features, also of
# those that nothing here builds.
deps:
	@./lab/deps.sh
	@cargo fetch --locked --quiet --target x86_64-unknown-linux-gnu

# What the lab's tests run.
build:
	@./lab/build.sh

# Real dm-crypt, LVM and md in a guest: needs qemu, not root.
guest: guest-checks guest-trims

guest-checks:
	@./lab/guest/test-storage.sh
	@./lab/guest/test-systemd.sh

guest-trims:
	@./lab/guest/test-trim.sh volumes

# Every case on every stack.
lab: guest
	@./lab/guest/test-drive-logs.sh
	@./lab/guest/test-trim.sh drives huge schedules disturbed

# Filesystems with lying metadata that the kernel still mounts, trimmed in a guest: 50 of XFS, ext4 and Btrfs each, or
# COUNT. Any run again: SEED=... An hour, and root.
test-crafted:
	@COUNT=$(if $(filter file,$(origin COUNT)),50,$(COUNT)) SEED=$(SEED) ./lab/guest/test-crafted.sh

# Processes of a pass killed, and a guest's power cut, at random moments: COUNT=50 and a fifth of it.
# Any run again: make test-crash SEED=...
COUNT ?= 50
POWER_COUNT ?= $(shell echo $$(( ($(COUNT) + 4) / 5 )))
test-crash:
	@COUNT=$(COUNT) SEED=$(SEED) ./lab/crash/kill.sh
	@COUNT=$(POWER_COUNT) SEED=$(SEED) ./lab/crash/power.sh

# Nothing is left of the free space of small fragmented filesystems: bytes, no times.
completeness: build
	@TRIMTAB=$${CARGO_TARGET_DIR:-target}/debug/trimtab ./benches/trim/completeness.sh --check

# The part of it that `make test` has time for.
crash:
	@COUNT=8 ./lab/crash/kill.sh
	@COUNT=1 ./lab/crash/power.sh

# The drive's write amplification against closed forms, on drives of millions of pages: minutes.
test-ssd:
	cargo test --locked -p flash --test it -- --ignored

# 10,000 random calendar events, or COUNT, against the real systemd-analyze in 16 time zones: a minute.
# Others: SEED=2.
test-schedules:
	@COUNT=$(if $(filter file,$(origin COUNT)),10000,$(COUNT)) SEED=$(SEED) cargo test --locked -q -p schedule \
	    --test systemd -- --ignored --nocapture

# Below and of real servers: Elasticsearch 6.8, 7.4 (check --cluster alone) and 7.17, OpenSearch 2.19. They
# come through Maven. Prometheus, from Debian's package, for explain alone.
test-servers:
	@./lab/servers/test-trim.sh
	@./lab/servers/test-cluster.sh
	@./lab/servers/test-hot-threads.sh
	@./lab/servers/test-explain.sh
	@./lab/servers/test-disks.sh
	@./lab/explain-cases/pages.sh elasticsearch-7.17.28
	@./lab/servers/test-filesystems.sh elasticsearch-6.8.23 opensearch-2.19.1

# The part of it that `make test` has time for.
servers:
	@./lab/servers/test-trim.sh opensearch-2.19.1
	@./lab/servers/test-cluster.sh opensearch-2.19.1
	@./lab/servers/test-explain.sh prometheus opensearch-2.19.1
	@./lab/explain-cases/pages.sh opensearch-2.19.1

# The same of `bench filesystems` and `bench trim`. Beside others its trials would be invalid.
experiments: build
	@QUICK=1 ./lab/servers/test-filesystems.sh opensearch-2.19.1

# The agent in the code of the servers that it is for, and of those that it leaves alone: Java and Maven, minutes.
test-livefix:
	@./lab/livefix/test.sh

# The part of it that `make test` has time for.
livefix:
	@STEPS=2000 STRESS_S=3 UNNEEDED="7.6.0 opensearch-2.19.1" ./lab/livefix/test.sh 6.8.23 7.4.0

# What it brings, beside 7.6.0 in the same run: half an hour on a quiet machine.
bench-livefix:
	@./benches/shards/livefix.sh

# The playbook of `trimtab plan` under the real ansible-playbook, which pip installs beside the builds: a minute.
test-ansible: build
	@./lab/plan/ansible.sh

# The objects of `trimtab plan --format kubernetes`, with the schemas and the schedules' reader that Go's proxy has: five
# minutes the first time.
test-kubernetes: build
	@./lab/plan/kubernetes.sh

# The metrics, alerts and runs of `check --format openmetrics` under Debian's node_exporter and Prometheus: two minutes.
test-monitoring: build
	@./lab/monitoring/test.sh

# 100 and 1,000 made bundles in one answer and every format, with seconds and memory, and its page in Chromium: minutes.
test-fleet: build
	@./lab/fleet/test.sh
	@./lab/fleet/bulk.sh
	@./lab/fleet/folds.sh

# What the articles' curve and log of disks must yield, and the docs' pages followed line by line: lab/explain-cases/README.md.
cases: build
	@./lab/explain-cases/run.sh

# A made-up history of 400 nights, explained, and its page in Debian's Chromium: what it names, that it asks
# nobody for anything, and that it can be used on a phone and by keyboard. KEEP=folder keeps the screenshots.
nightly: build
	@./lab/nightly/check.sh $${CARGO_TARGET_DIR:-target}/debug/trimtab $(KEEP)

# The desired balance beside the real ones of 8.19 and 9.2 (which needs a JDK of 21 or later), on random clusters: 2,000
# of each, or COUNT, from SEED on; with another order of Java's immutable maps: SALT=2; two servers whose orders differ
# beside each other, instead: CHANCE=1. The first 30 are part of `make unit`. The jars come through Maven.
test-desired:
	@COUNT=$(if $(filter file,$(origin COUNT)),2000,$(COUNT)) SEED=$(SEED) cargo test --locked -p shards --test it -- \
	    --ignored --nocapture --test-threads 1 $(if $(CHANCE),two_servers,desired_balances_agree)

# The balancer beside the real one of 15 versions of Elasticsearch and OpenSearch: 500 random clusters each, or
# COUNT, from SEED on, of VERSIONS="8.4.3 opensearch-2.19.1" or all; then an empty node that joins 12 and 120 others.
# An hour. OpenSearch 3 and Elasticsearch 9 need Java 21, and are left out without it. The first 8 of three versions are
# part of `make unit`.
test-versions:
	@COUNT=$(if $(filter file,$(origin COUNT)),500,$(COUNT)) SEED=$(SEED) VERSIONS="$(VERSIONS)" TIER=4 \
	    cargo test --locked -p shards --test it -- --ignored --nocapture --test-threads 1 versions:: joins::

# What-if beside real servers in the situations of moves.py: prints Markdown. A quarter of an hour and 4 GB for
# each server; as root. What was recorded in MOVES stays there: `moves.py compare` needs no server.
SERVERS ?= elasticsearch-7.17.28 elasticsearch-8.11.0 elasticsearch-9.2.0 opensearch-2.19.1 opensearch-3.0.0
MOVES ?= $(or $(CARGO_TARGET_DIR),target)/moves
compare-moves:
	cargo build --locked -q -p shards --example placements
	@for server in $(SERVERS); do ./lab/servers/moves.py record $$server $(MOVES)/$$server || exit; done
	@for server in $(SERVERS); do ./lab/servers/moves.py compare \
	    $(or $(CARGO_TARGET_DIR),target)/debug/examples/placements $(MOVES)/$$server || exit; done

# Coverage-guided, as long as you like: make fuzz TARGET=crontab
fuzz:
	cd fuzz && cargo +nightly fuzz run --features libfuzzer $(TARGET)

# The rule catalogue and the README's picture, both made by the program itself.
docs: build
	./lab/docs.sh

bench: release
	@./benches/check.sh

# fstrim and trimtab trim side by side: needs root and about an hour, writes docs/trim-bench.md.
bench-trim: release
	@./benches/trim.sh | tee target/trim-bench.md; status=$${PIPESTATUS[0]}; \
	    ! grep -q '^|' target/trim-bench.md || mv target/trim-bench.md docs/; exit $$status

# The simulated drive beside a plain loop, and beside ftlsim where FTLSIM names a copy of it: prints Markdown.
# 256 million pages take minutes and 4 GB: SIZES="1 16" is quick.
bench-ssd:
	@SIZES="$(SIZES)" FTLSIM="$(FTLSIM)" ./benches/ssd/speed.sh

# Change points beside Apache Otava and ruptures, which pip fetches: prints Markdown, takes minutes.
# SIZES="1000 10000" LIMIT_S=20 is quick.
bench-explain:
	@./benches/explain/compare.sh

# The load driver beside wrk and others; prints tables.
bench-driver:
	@./benches/bench.sh

# Filesystems below a real Elasticsearch, on loop devices in DIR: needs root, Java, 4 GB of memory, and an hour and a half.
# Another server: SERVER=opensearch-2.19.1. Other options: OPTIONS="--same-segments --repeats 1". That not all
# trials are VALID is on the page, and no error.
DIR ?= /var/tmp
SERVER ?= elasticsearch-6.8.23
bench-filesystems: release
	@mkdir -p target/filesystems
	@$${CARGO_TARGET_DIR:-target}/static/trimtab bench filesystems --server $(SERVER) --loop-dir $(DIR) \
	    --into target/filesystems/$(SERVER) -o target/filesystems-$(SERVER).html $(OPTIONS) || [ $$? = 1 ]

# Defects planted in trials on a real Elasticsearch, and CLEAN trials without: needs root, cron, and a machine on
# which nothing else runs, for half an hour.
CLEAN ?= 50
bench-defects: release
	@./lab/bench/defects.py $${CARGO_TARGET_DIR:-target}/static/trimtab --clean $(CLEAN)

# Measures the crates: lines, files, cycles between files, files that render. BEFORE=path of another
# checkout prints both.
house:
	@cargo run --locked -q -p house -- $(if $(BEFORE),"$(BEFORE)" .)

# Two builds beside each other, on recorded and made-up inputs: do they answer the same, and as fast?
#   make compare OLD=/somewhere/trimtab NEW=target/release/trimtab
compare:
	@./lab/compare/run.sh "$(OLD)" "$(NEW)"

compare-speed:
	@./lab/compare/speed.sh "$(OLD)" "$(NEW)"

# Bans, licences, sources and advisories, with the date of the database: builds cargo-deny once, in minutes.
deny:
	@./lab/deny.sh

clean:
	cargo clean
