// The cost of publisher and subscriber together, over a real broker: the time of a fix from AssetPublisher to
// AssetSubscriber, compared with C on the same library; the time from a cause to the new resolution; and the effect of
// a slow reader on a fast one.

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
// C publishes and receives on the thread that reads and writes the sockets. Tasks that prefer the loop's executor do so
// too.
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
