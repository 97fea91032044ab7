// What the SDKs cost together, over a real broker: a fix's way from AssetPublisher to AssetSubscriber against C on the same
// library, how soon a resolution follows its cause, and what a reader that does not keep up does to one that does.

import BenchmarkSupport
import CReference
import Glibc
import Logging
import TrackingCore
import TrackingMQTT

LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
let broker = try Broker()
var report = Report()

let rounds = 5
let fixes = 2_000
let message = try LocationCodec.encode(LocationUpdate(location: sampleLocation(0)))
// C publishes and receives on the thread that reads and writes; so does who prefers the loop's executor.
let loop = MQTTEventLoop.shared.executor
var reference: [[Double]] = []
var onLoop: (transports: [[Double]], roles: [[Double]]) = ([], [])
var elsewhere: (transports: [[Double]], roles: [[Double]]) = ([], [])
for _ in 0..<rounds {
    reference.append(try referenceRoundTrip(fixes, size: message.count))
    onLoop.transports.append(try await transportRoundTrip(fixes, message, on: loop))
    onLoop.roles.append(try await roundTrip(fixes, on: loop))
    elsewhere.transports.append(try await transportRoundTrip(fixes, message, on: nil))
    elsewhere.roles.append(try await roundTrip(fixes, on: nil))
}
for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
    func compare(_ what: String, _ measured: [[Double]], _ target: Bound? = nil) {
        report.compare(
            "round trip at 1,000/s, \(what): \(name)", reference: reference.map { $0.percentile(share) }.median,
            measured: measured.map { $0.percentile(share) }.median, "µs", target)
    }
    compare("message, MQTTTransport", onLoop.transports, .atMost(2))
    compare("fix, AssetPublisher → AssetSubscriber", onLoop.roles, .atMost(2))
    compare("message, from and to other threads", elsewhere.transports)
    compare("fix, from and to other threads", elsewhere.roles)
}

let causes = try await resolutionLatencies(60)
report.measure("cause → new resolution on the wire, p50", causes.percentile(0.5), "ms")
report.measure("cause → new resolution on the wire, p99", causes.percentile(0.99), "ms", .below(50))

let readers = try await slowReaderBesideFastOne(rounds: 7, fixes: fixes)
report.compare(
    "a slow reader beside a fast one: the fast one's p50", reference: readers.alone.map { $0.percentile(0.5) }.median,
    measured: readers.beside.map { $0.percentile(0.5) }.median, "µs")
report.compare(
    "a slow reader beside a fast one: the fast one's p99", reference: readers.alone.map { $0.percentile(0.99) }.median,
    measured: readers.beside.map { $0.percentile(0.99) }.median, "µs", .atMost(1.1))
report.compare(
    "the same: memory of a slow reader, full; after as much again", reference: readers.full,
    measured: readers.full + readers.again, "MiB", .atMost(1.5))

if !report.isMet { exit(1) }
