// The recording lane, on which the records of the log are published in batches. The benchmark measures how fast a log
// drains through a broker, beside C that sends the same batches one in flight; the memory of the drain, in a program of
// its own; the bytes on the wire for a point; and the effect of the drain on live updates.
//
// Run `drain-benchmarks`; it runs `drain-benchmarks drain FILE PORT` as that program. For a profiler, `drain-benchmarks
// fill FILE` makes such a log, and `drain-benchmarks reference PORT` runs the C alone.

import BenchmarkSupport
import Glibc
import Logging
import TrackingCore

LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }

let batchSize = 200
let van = try TrackableID("van-7")
let stream = StreamID("k3f9q2wz")!  // a valid name
let rounds = 3

func run() async throws -> Bool {
    let broker = try Broker()
    var report = Report()
    try await withFolder { folder in
        var reference: [Double] = []
        var drained: [Drained] = []
        for round in 0..<rounds {
            reference.append(try referenceDrain(count: 1_000_000, port: broker.port))
            try await fill(folder + "/log-\(round)", count: 1_000_000)
            drained.append(try drainInOwnProgram(folder + "/log-\(round)", port: broker.port))
        }
        report.compare(
            "1,000,000 points queued, drained and acknowledged, batches of 200", reference: reference.median,
            measured: drained.map { 1_000_000 / $0.seconds }.median, "points/s", .atLeast(0.5))
        report.measure(
            "the same, processor time a point", drained.map { $0.processorSeconds }.median, "µs")
        try await fill(folder + "/small", count: 100_000)
        let small = try drainInOwnProgram(folder + "/small", port: broker.port)
        let most = drained.map(\.resident).max() ?? 0
        report.measure("resident at most while it drains", most, "MB", .below(60))
        report.compare(
            "the same, beside 100,000 points queued", reference: small.resident, measured: most, "MB", .atMost(1.25))
        report.measure("bytes on the wire a point, live", try liveBytes(), "bytes")
        report.measure("bytes on the wire a point, in batches of 200", batchBytes(), "bytes")
        try await fill(folder + "/beside", count: 1_000_000)
        let quiet = try await liveLatencies(folder + "/quiet", port: broker.port)
        let beside = try await liveLatencies(folder + "/beside", port: broker.port)
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            report.compare(
                "live updates, 100 a second, beside a drain: \(name)", reference: quiet.percentile(share),
                measured: beside.percentile(share), "ms")
        }
    }
    return report.isMet
}

if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "drain", let port = Int(CommandLine.arguments[3]) {
    try await drain(CommandLine.arguments[2], port: port)
} else if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "fill" {
    try await fill(CommandLine.arguments[2], count: 1_000_000)
} else if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "reference",
    let port = Int(CommandLine.arguments[2])
{
    print(try referenceDrain(count: 1_000_000, port: port))
} else if try await !run() {
    exit(1)
}
