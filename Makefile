# Everything a newcomer or the CI runs. Each target sets up what it needs (Debian 12 with Swift 6.3; root or sudo).
SHELL := /bin/bash
SWIFT_FLAGS := $(shell scripts/swift-flags)

.PHONY: demo test bench build release docs lint sanitizer drills certify setup

# Installs and builds only what the demo runs.
demo:
	scripts/demo

test:
	scripts/test

# Speed and memory, held against docs/explanation/performance.md; on a machine that does nothing else.
bench: setup
	scripts/bench

# Without what only the tests need.
build:
	scripts/setup demo
	scripts/commit
	set -o pipefail; swift build $(SWIFT_FLAGS) 2>&1 | sed '/^remark: Incremental compilation/d'

release: setup
	scripts/commit
	swift build --explicit-target-dependency-import-check error -c release --static-swift-stdlib

# The documentation of the libraries; a warning of DocC fails it.
docs: setup
	scripts/docs

lint:
	scripts/lint-imports
	scripts/lint-links
	scripts/lint-doc-symbols
	swift format lint --strict --recursive Sources Tests Benchmarks Package.swift
	scripts/lint-layers

# The unit tests under the thread sanitizer.
sanitizer: setup
	scripts/sanitizer

# The long forms of what `make test` does shortly, and the images without a container engine.
drills: setup
	scripts/setup-tests
	GODWIT_BENCHMARKS=1 swift build $(SWIFT_FLAGS) --scratch-path .build/benchmarks
	Tests/Fuzz/run 120
	Tests/Drills/image
	Tests/Drills/receivers
	swift test $(SWIFT_FLAGS) --filter 'Tracking(Core|History|Publisher|Subscriber)Tests'
	GODWIT_FLIPS=1000 swift test $(SWIFT_FLAGS) --filter SpoolDamageTests
	GODWIT_DRILL_KILLS=200 GODWIT_DRILL_STALL=60 GODWIT_DRILL_BACKLOG=100000 swift test $(SWIFT_FLAGS) \
	    --filter 'RecordingDrillTests|RecorderDrillTests|RecordTests|GatewayDrillTests|Forward.*DrillTests'
	GODWIT_DRILL_TAKEOVERS=3 swift test $(SWIFT_FLAGS) --filter StandbyDrillTests
	GODWIT_DRILL_DAMAGE=1000 swift test $(SWIFT_FLAGS) --filter DamagedStreamDrillTests
	GODWIT_DRILL_TRACKABLES=10000 swift test $(SWIFT_FLAGS) --filter RetainedDrillTests
	GODWIT_DRILL_ORDERS=10000 swift test $(SWIFT_FLAGS) --filter AnyOrderTests
	GODWIT_DRILL_ALONE=1 swift test $(SWIFT_FLAGS) --filter 'AppCredentialTests|RabbitMQTests'
	GODWIT_DRILL_ROUNDS=5 swift test $(SWIFT_FLAGS) --filter 'PairDrillTests|NATSDrillTests|RabbitMQDrillTests'
	GODWIT_DRILL_DRIVES=30 swift test $(SWIFT_FLAGS) --filter EnhanceDrillTests
	swift build --explicit-target-dependency-import-check error -c release --static-swift-stdlib --product godwit
	GODWIT_DRILL_FLEET=100000 GODWIT_PROGRAMS=.build/release swift test $(SWIFT_FLAGS) --filter FleetDrillTests

# Tries a broker: make certify BROKER=mqtts://me@broker.example.org, with the password in GODWIT_PASSWORD. OTHER is a second address of
# the same cluster.
certify: build
	@.build/debug/godwit certify $(if $(BROKER),'$(BROKER)',mqtt://127.0.0.1:1883) $(if $(OTHER),'$(OTHER)')

setup:
	scripts/setup
