// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let core = Target.Dependency.product(name: "TrackingCore", package: "godwit")
let mqtt = Target.Dependency.product(name: "TrackingMQTT", package: "godwit")
let publisher = Target.Dependency.product(name: "TrackingPublisher", package: "godwit")
let subscriber = Target.Dependency.product(name: "TrackingSubscriber", package: "godwit")
let recorder = Target.Dependency.product(name: "TrackingRecorder", package: "godwit")
let spool = Target.Dependency.product(name: "TrackingSpool", package: "godwit")
let store = Target.Dependency.product(name: "TrackingStore", package: "godwit")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

let package = Package(
    name: "godwit-benchmarks",
    platforms: [.macOS(.v26)],
    dependencies: [
        .package(name: "godwit", path: ".."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .target(name: "CReference", linkerSettings: [.linkedLibrary("mosquitto")]),
        .target(name: "BenchmarkSupport", swiftSettings: settings),
        .executableTarget(
            name: "codec-benchmarks", dependencies: ["BenchmarkSupport", core], swiftSettings: settings),
        .executableTarget(
            name: "policy-benchmarks", dependencies: ["BenchmarkSupport", core, publisher], swiftSettings: settings),
        .executableTarget(
            name: "transport-benchmarks", dependencies: ["BenchmarkSupport", "CReference", core, mqtt],
            swiftSettings: settings),
        .executableTarget(
            name: "connection-benchmarks", dependencies: ["BenchmarkSupport", core, mqtt], swiftSettings: settings),
        .executableTarget(
            name: "tracking-benchmarks",
            dependencies: ["BenchmarkSupport", "CReference", core, mqtt, publisher, subscriber, logging],
            swiftSettings: settings),
        .executableTarget(
            name: "spool-benchmarks", dependencies: ["BenchmarkSupport", core, spool, grdb, sqlite],
            swiftSettings: settings),
        .executableTarget(
            name: "recorder-benchmarks", dependencies: ["BenchmarkSupport", core, mqtt, recorder, store],
            swiftSettings: settings),
        .executableTarget(
            name: "drain-benchmarks",
            dependencies: ["BenchmarkSupport", "CReference", core, mqtt, publisher, subscriber, spool, logging],
            swiftSettings: settings),
        .executableTarget(
            name: "store-benchmarks", dependencies: ["BenchmarkSupport", core, store, grdb, sqlite],
            swiftSettings: settings),
        .executableTarget(
            name: "gateway-benchmarks", dependencies: ["BenchmarkSupport", core, mqtt, hummingbird, nioCore],
            swiftSettings: settings),
        .executableTarget(
            name: "agent-benchmarks", dependencies: ["BenchmarkSupport", core, mqtt], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
