// The program for devices as it is delivered: its memory, its processor time, and the time until its first acknowledged
// update.
//
//     agent-benchmarks path/to/godwit-agent          (statically linked with Swift, stripped)

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
var facts = stat()
guard stat(program, &facts) == 0 else {
    throw BenchmarkError("cannot find the agent's program \(program). Build it with: make bench")
}

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
report.measure("agent at 1 fix/s: resident set, shared libraries included", carrying.resident, "MB")
report.measure("agent: stripped size", Double(facts.st_size) / 1e6, "MB")
report.measure("agent at 1 fix/s: processor time", carrying.load * 100, "% of a core", .below(1))
if !report.isMet { exit(1) }
