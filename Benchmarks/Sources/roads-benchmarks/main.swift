// Positions on the road and estimated arrivals.
//
//     roads-benchmarks                 estimates and route requests, in simulated time
//     roads-benchmarks path/to/godwit  in addition with the routing engine Valhalla and a generated town: the true roads
//                                      that are found, and the speed of `godwit enhance`

import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingRoads
import TrackingTesting

/// Measures everything that needs the routing engine.
func measureWithEngine(_ program: String, _ report: inout Report) async throws {
    let town = Town()
    let file = "/tmp/godwit-benchmark-town-\(getpid()).osm.pbf"
    try OpenStreetMapFile.write(town.pieces, to: file)
    defer { unlink(file) }
    let engine = try Engine(file)
    let broker = try Broker()
    let valhalla = try ValhallaEngine(url: engine.url, timeout: .seconds(20))
    try await Matching.measure(town, valhalla, &report)
    await valhalla.close()
    try await EnhancerLoad.measure(program, town, engine, broker, &report)
}

/// Measures everything that needs only simulated time.
func measureSimulation(_ report: inout Report) async throws {
    let region = Region()
    try await Estimates.measure(region, &report)
    try await RouteRequestRate.measure(region, &report)
}

func run(_ arguments: [String]) async throws -> Bool {
    var report = Report()
    if let program = arguments.first { try await measureWithEngine(program, &report) }
    if arguments.isEmpty { try await measureSimulation(&report) }
    return report.isMet
}

if try await !run(Array(CommandLine.arguments.dropFirst())) { exit(1) }
