// Positions on the road and estimated arrivals: estimates and route requests in simulated time, and the true roads that
// are found with the routing engine Valhalla and a generated town. With the path of the program `godwit` in addition the
// speed of `godwit enhance`; with the word `load` before the path only that.
//
//     roads-benchmarks [[load] path/to/godwit]

import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingRoads
import TrackingTesting

/// Measures everything that needs only simulated time.
func measureSimulation(_ report: inout Report) async throws {
    let region = Region()
    try await Estimates.measure(region, &report)
    try await RouteRequestRate.measure(region, &report)
}

/// Measures everything that needs the routing engine.
///
/// - Parameters:
///   - program: The program `godwit`; `nil` to leave its speed out.
///   - isLoadOnly: `true` to measure only the speed of the program.
func measureWithEngine(_ program: String?, isLoadOnly: Bool, _ report: inout Report) async throws {
    let town = Town()
    let file = "/tmp/godwit-benchmark-town-\(getpid()).osm.pbf"
    try OpenStreetMapFile.write(town.pieces, to: file)
    defer { unlink(file) }
    let engine = try Engine(file)
    if !isLoadOnly {
        let valhalla = try ValhallaEngine(url: engine.url, timeout: .seconds(20))
        try await Matching.measure(town, valhalla, &report)
    }
    if let program { try await EnhancerLoad.measure(program, town, engine, try Broker(), &report) }
}

func run() async throws -> Bool {
    var report = Report()
    var arguments = CommandLine.arguments.dropFirst()
    let isLoadOnly = arguments.first == "load"
    if isLoadOnly { arguments.removeFirst() }
    if !isLoadOnly { try await measureSimulation(&report) }
    try await measureWithEngine(arguments.first, isLoadOnly: isLoadOnly, &report)
    return report.isMet
}

if try await !run() { exit(1) }
