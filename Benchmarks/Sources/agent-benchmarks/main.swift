// The program for devices as it is delivered: its size, its memory, its processor time, and the time until its first
// acknowledged update.
//
//     agent-benchmarks path/to/godwit-agent          (statically linked with Swift, stripped, and beside it compressed: .xz)

import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingMQTT

guard CommandLine.arguments.count == 2 else {
    print("usage: agent-benchmarks path/to/godwit-agent")
    exit(64)
}
let seconds = 20.0
let starts = 7
let broker = try Broker()
let program = CommandLine.arguments[1]
let size = try megabytes(program)
let compressedSize = try megabytes(program + ".xz")

var report = Report()
var times: [Double] = []
for number in 0..<starts { times.append(try await Carrier.run("start-\(number)") { $0.secondsToOnline * 1e3 }) }
report.measure("agent: start to first acknowledged update, median of \(starts)", times.median, "ms", .atMost(150))
report.measure("agent: start to first acknowledged update, slowest", times.percentile(1), "ms")

let carrying = try await Carrier.run("van-7") { carrier in try await carrier.observe(for: seconds) }
report.measure(
    "agent at 1 fix/s: updates received in \(Int(seconds)) s", Double(carrying.updates), "updates",
    .atLeast(seconds - 1))
report.measure("agent at 1 fix/s: anonymous memory", carrying.anonymous, "MB", .atMost(12))
report.measure(
    "agent at 1 fix/s: resident set, shared libraries included", carrying.resident, "MB", .atMost(15))
report.measure("agent: stripped size", size, "MB", .atMost(30))
report.measure("agent: stripped and compressed size", compressedSize, "MB", .atMost(9))
report.measure("agent at 1 fix/s: processor time", carrying.load * 100, "% of a core", .below(1))
if !report.isMet { exit(1) }

/// Returns the size of a file in MB.
func megabytes(_ path: String) throws -> Double {
    var facts = stat()
    guard stat(path, &facts) == 0 else {
        throw BenchmarkError("cannot find the agent's program \(path). Build it with: make bench")
    }
    return Double(facts.st_size) / 1e6
}
