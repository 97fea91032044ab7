// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

/// As a package has it that sets nothing.
let plainSettings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let signals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let httpParts = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")

let package = Package(
    name: "godwit",
    products: [
        .library(name: "Godwit", targets: ["Godwit"]),
        .library(name: "TrackingCore", targets: ["TrackingCore"]),
        .library(name: "TrackingGateway", targets: ["TrackingGateway"]),
        .library(name: "TrackingHistory", targets: ["TrackingHistory"]),
        .library(name: "TrackingMQTT", targets: ["TrackingMQTT"]),
        .library(name: "TrackingPublisher", targets: ["TrackingPublisher"]),
        .library(name: "TrackingRecorder", targets: ["TrackingRecorder"]),
        .library(name: "TrackingRoads", targets: ["TrackingRoads"]),
        .library(name: "TrackingSpool", targets: ["TrackingSpool"]),
        .library(name: "TrackingStore", targets: ["TrackingStore"]),
        .library(name: "TrackingSubscriber", targets: ["TrackingSubscriber"]),
        .library(name: "TrackingTesting", targets: ["TrackingTesting"]),
        .executable(name: "godwit-agent", targets: ["godwit-agent"]),
        .executable(name: "godwit", targets: ["godwit"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.33.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CMosquitto", pkgConfig: "libmosquitto",
            providers: [.apt(["libmosquitto-dev", "libssl-dev"]), .brew(["mosquitto", "openssl"])]),

        .systemLibrary(
            name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),

        .systemLibrary(
            name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),

        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),

        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]),

        .systemLibrary(name: "CMalloc"),

        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),

        .target(name: "CVersion"),

        .target(name: "CPage"),

        .target(name: "CCurl"),

        .target(name: "SystemLibrary", swiftSettings: settings),
        .target(name: "TrackingCore", dependencies: ["SystemLibrary"], swiftSettings: settings),
        .target(name: "TrackingHistory", dependencies: ["SystemLibrary", "TrackingCore"], swiftSettings: settings),
        .target(
            name: "TrackingMQTT",
            dependencies: ["CMosquitto", "SystemLibrary", "TrackingCore", "TrackingRuntime", logging],
            swiftSettings: settings),
        .target(name: "TrackingCrypto", dependencies: ["CSodium"], swiftSettings: settings),
        .target(name: "TrackingSQLite", dependencies: ["CSQLite"], swiftSettings: settings),
        .target(
            name: "TrackingSpool", dependencies: ["SystemLibrary", "TrackingCore", "TrackingSQLite"],
            swiftSettings: settings),
        .target(
            name: "TrackingStore",
            dependencies: ["CPostgres", "SystemLibrary", "TrackingCore", "TrackingSQLite", grdb],
            swiftSettings: settings),
        .target(
            name: "TrackingRuntime", dependencies: ["SystemLibrary", "TrackingCore", deque, logging],
            swiftSettings: settings),
        .target(
            name: "TrackingHTTP", dependencies: ["CCurl", "TrackingCore", "TrackingRuntime"], swiftSettings: settings),
        .target(
            name: "TrackingPublisher",
            dependencies: ["SystemLibrary", "TrackingCore", "TrackingRuntime", logging, lifecycle],
            swiftSettings: settings),
        .target(
            name: "TrackingSubscriber", dependencies: ["TrackingCore", "TrackingRuntime", logging, lifecycle],
            swiftSettings: settings),
        .target(
            name: "TrackingRecorder",
            dependencies: ["TrackingCore", "TrackingRuntime", "TrackingStore", coreMetrics, logging, lifecycle],
            swiftSettings: settings),
        .target(
            name: "TrackingRoads",
            dependencies: [
                "SystemLibrary", "TrackingCore", "TrackingHTTP", "TrackingRuntime", coreMetrics, deque, lifecycle,
                logging,
            ],
            swiftSettings: settings),
        .target(
            name: "TrackingRules",
            dependencies: [
                "SystemLibrary", "TrackingCore", "TrackingRuntime", "TrackingSQLite", "TrackingStore",
                "TrackingSubscriber", "TrackingCrypto", "TrackingHTTP", coreMetrics, grdb, lifecycle, logging,
            ],
            swiftSettings: settings),
        .target(
            name: "TrackingSinks",
            dependencies: ["TrackingCore", "TrackingCrypto", "TrackingHTTP", "TrackingMQTT", "TrackingRuntime"],
            swiftSettings: settings),
        .target(
            name: "TrackingForwarding",
            dependencies: [
                "TrackingCore", "TrackingCrypto", "TrackingMQTT", "TrackingRuntime", "TrackingSinks", "TrackingStore",
                "TrackingHTTP", coreMetrics, lifecycle, logging,
            ],
            swiftSettings: settings),
        .target(
            name: "TrackingGateway",
            dependencies: [
                "TrackingCore", "TrackingHistory", "TrackingMetrics", "TrackingPublisher", "TrackingRules",
                "TrackingRuntime", "CPage", "CSodium", "CZlib", "SystemLibrary", "TrackingSQLite", "TrackingStore",
                "TrackingSubscriber",
                "TrackingCrypto", "TrackingHTTP", coreMetrics, grdb, httpParts, httpTypes, hummingbird, hummingbirdCore,
                lifecycle, logging, nioCore, nioHTTP1,
            ],
            exclude: ["Page", "Routes/openapi.json"], swiftSettings: settings),
        .target(name: "TrackingMetrics", dependencies: [coreMetrics], swiftSettings: settings),
        .target(
            name: "TrackingControl", dependencies: ["SystemLibrary", "TrackingCore", "TrackingRuntime", logging],
            swiftSettings: settings),
        .target(
            name: "TrackingCertificate", dependencies: ["TrackingCore", "TrackingRuntime"], swiftSettings: settings),
        .target(
            name: "TrackingTesting", dependencies: ["SystemLibrary", "TrackingCore", "TrackingRuntime"],
            swiftSettings: settings),
        .target(
            name: "Godwit",
            dependencies: [
                "TrackingCore", "TrackingMQTT", "TrackingPublisher", "TrackingRuntime", "TrackingSpool",
                "TrackingSubscriber",
            ],
            swiftSettings: settings),
        .target(
            name: "GodwitOptions",
            dependencies: [
                "CYAML", "SystemLibrary", "TrackingCore", "TrackingMQTT", "TrackingRuntime", argumentParser, logging,
                lifecycle, signals,
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "godwit-agent",
            dependencies: [
                "CVersion", "GodwitOptions", "SystemLibrary", "TrackingCore", "TrackingControl", "TrackingPublisher",
                "TrackingMQTT",
                "TrackingRuntime", "TrackingSinks", "TrackingSpool", argumentParser, logging, lifecycle,
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "godwit",
            dependencies: [
                "CMalloc", "CVersion", "GodwitOptions", "SystemLibrary", "TrackingCertificate", "TrackingControl",
                "TrackingCore",
                "TrackingForwarding", "TrackingGateway",
                "TrackingHistory",
                "TrackingMQTT", "TrackingMetrics", "TrackingPublisher", "TrackingRecorder", "TrackingRoads",
                "TrackingRules",
                "TrackingRuntime", "TrackingSinks", "TrackingSpool", "TrackingStore", "TrackingSubscriber",
                "TrackingTesting", argumentParser, coreMetrics,
                lifecycle, logging,
            ],
            swiftSettings: settings),

        .target(
            name: "TestSupport", dependencies: ["TrackingCore", "TrackingControl"], path: "Tests/TestSupport",
            swiftSettings: settings),
        .executableTarget(
            name: "doc-examples",
            dependencies: [
                "Godwit", "TrackingCore", "TrackingMQTT", "TrackingPublisher", "TrackingTesting",
            ],
            path: "Tests/DocExamples", swiftSettings: plainSettings),
        .executableTarget(
            name: "spool-writer", dependencies: ["TrackingCore", "TrackingSpool"], path: "Tests/SpoolWriter",
            swiftSettings: settings),
        .testTarget(name: "TrackingCoreTests", dependencies: ["TrackingCore", "TestSupport"], swiftSettings: settings),
        .testTarget(name: "TrackingCryptoTests", dependencies: ["TrackingCrypto"], swiftSettings: settings),
        .testTarget(
            name: "TrackingCertificateTests",
            dependencies: ["TestSupport", "TrackingCertificate", "TrackingCore", "TrackingMQTT", "TrackingTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingGatewayTests",
            dependencies: [
                "TestSupport", "TrackingCore", "TrackingGateway", "TrackingHistory", "TrackingMetrics",
                "TrackingPublisher", "TrackingRules", "TrackingRuntime", "TrackingStore", "TrackingSubscriber",
                "TrackingTesting", "TrackingCrypto", "TrackingHTTP", grdb, httpTypes,
                hummingbird, lifecycle, logging, nioCore, nioEmbedded, nioHTTP1,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingHTTPTests", dependencies: ["TestSupport", "TrackingHTTP", "TrackingMQTT"],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingHistoryTests",
            dependencies: ["TrackingCore", "TrackingHistory", "TrackingTesting", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingMetricsTests", dependencies: ["TrackingMetrics", coreMetrics], swiftSettings: settings),
        .testTarget(
            name: "TrackingMQTTTests",
            dependencies: [
                "TrackingCore", "TrackingMQTT", "TrackingRuntime", "TrackingTesting", "TestSupport", logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingPublisherTests",
            dependencies: [
                "TrackingCore", "TrackingPublisher", "TrackingRuntime", "TrackingSpool", "TrackingTesting",
                "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingControlTests", dependencies: ["TrackingCore", "TrackingControl", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingSpoolTests",
            dependencies: [
                "TrackingCore", "TrackingSpool", "TrackingSQLite", "TrackingTesting", "TestSupport", "spool-writer",
                grdb,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingRecorderTests",
            dependencies: ["TrackingCore", "TrackingRecorder", "TrackingStore", "TrackingTesting", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingRoadsTests",
            dependencies: [
                "TrackingCore", "TrackingRoads", "TrackingTesting", "TestSupport", hummingbird, logging, nioCore,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingForwardingTests",
            dependencies: [
                "TrackingCore", "TrackingCrypto", "TrackingForwarding", "TrackingMQTT", "TrackingSinks",
                "TrackingStore", "TestSupport", httpTypes, hummingbird, logging, nioCore,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingSinksTests",
            dependencies: [
                "TrackingCore", "TrackingCrypto", "TrackingHTTP", "TrackingSinks", "TestSupport", httpTypes,
                hummingbird, logging,
                nioCore,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingStoreTests", dependencies: ["TrackingCore", "TrackingStore", "TestSupport", grdb],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingSubscriberTests",
            dependencies: ["TrackingCore", "TrackingRuntime", "TrackingSubscriber", "TrackingTesting", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "TrackingTestingTests",
            dependencies: ["TrackingCore", "TrackingTesting", "TrackingPublisher", "TrackingSubscriber"],
            swiftSettings: settings),
        .testTarget(
            name: "GodwitOptionsTests",
            dependencies: [
                "GodwitOptions", "TrackingCore", "TrackingMQTT", "TestSupport", argumentParser, logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ProgramTests",
            dependencies: [
                "GodwitOptions", "TestSupport", "TrackingCertificate", "TrackingControl", "TrackingCore",
                "TrackingForwarding",
                "TrackingGateway", "TrackingHistory", "TrackingMQTT", "TrackingPublisher", "TrackingRecorder",
                "TrackingRules",
                "TrackingRuntime", "TrackingStore", "TrackingSubscriber", "TrackingTesting", "godwit", "godwit-agent",
                argumentParser, logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "Godwit", "TrackingCore", "TrackingControl", "TrackingGateway", "TrackingMQTT", "TrackingPublisher",
                "TrackingRecorder", "TrackingRuntime", "TrackingSpool", "TrackingStore",
                "TrackingSubscriber", "TrackingTesting", "TestSupport", "godwit", "godwit-agent", "doc-examples",
                logging,
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

// A build for some tests alone, such as GODWIT_TESTS=TrackingCoreTests,TrackingSpoolTests, leaves the other tests out.
if let names = Context.environment["GODWIT_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
    if !names.contains(where: { ["ProgramTests", "IntegrationTests"].contains($0) }) {
        let programs = ["godwit", "godwit-agent", "doc-examples"]
        package.targets.removeAll { programs.contains($0.name) }
        package.products.removeAll { programs.contains($0.name) }
    }
}

// `make docs` alone needs the plugin that builds the documentation of the libraries.
if Context.environment["GODWIT_DOCS"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// `make bench` alone builds the benchmarks. They are targets of this package, so that they may use `package` declarations.
if Context.environment["GODWIT_BENCHMARKS"] != nil {
    package.targets += [
        .target(
            name: "CReference", path: "Benchmarks/Sources/CReference", linkerSettings: [.linkedLibrary("mosquitto")]),
        .target(name: "BenchmarkSupport", path: "Benchmarks/Sources/BenchmarkSupport", swiftSettings: settings),
        benchmark("codec-benchmarks", ["TrackingCore"]),
        benchmark("policy-benchmarks", ["TrackingCore", "TrackingPublisher"]),
        benchmark("transport-benchmarks", ["CReference", "TrackingCore", "TrackingMQTT"]),
        benchmark("connection-benchmarks", ["TrackingCore", "TrackingMQTT"]),
        benchmark(
            "tracking-benchmarks",
            ["CReference", "TrackingCore", "TrackingMQTT", "TrackingPublisher", "TrackingSubscriber", logging]),
        benchmark("spool-benchmarks", ["TrackingCore", "TrackingSpool", grdb, sqlite]),
        benchmark("recorder-benchmarks", ["TrackingCore", "TrackingMQTT", "TrackingRecorder", "TrackingStore"]),
        benchmark(
            "drain-benchmarks",
            [
                "CReference", "TrackingCore", "TrackingMQTT", "TrackingPublisher", "TrackingSubscriber",
                "TrackingSpool", logging,
            ]),
        benchmark("store-benchmarks", ["TrackingCore", "TrackingStore", grdb, sqlite]),
        benchmark("history-benchmarks", ["TrackingCore", "TrackingStore"]),
        benchmark("gateway-benchmarks", ["TrackingCore", "TrackingMQTT", hummingbird, nioCore]),
        benchmark("agent-benchmarks", ["TrackingCore", "TrackingMQTT"]),
        benchmark("roads-benchmarks", ["TrackingCore", "TrackingMQTT", "TrackingRoads", "TrackingTesting"]),
    ]
}

func benchmark(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: ["BenchmarkSupport"] + dependencies, path: "Benchmarks/Sources/\(name)",
        swiftSettings: settings)
}
