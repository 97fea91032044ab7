// What the SDKs cost together, over a real broker: a fix's way from AssetPublisher to AssetSubscriber against C on the same
// library, how soon a resolution follows its cause, and what a reader that does not keep up does to one that does.

import BenchmarkSupport
import CReference
import Glibc
import Logging
import TrackingCore

LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
let broker = try Broker()
var report = Report()

let rounds = 5
let fixes = 2_000
let message = try LocationCodec.encode(LocationUpdate(location: sampleLocation(0)))
var trips: (reference: [[Double]], transports: [[Double]], roles: [[Double]]) = ([], [], [])
for _ in 0..<rounds {
    trips.reference.append(try referenceRoundTrip(fixes, size: message.count))
    trips.transports.append(try await transportRoundTrip(fixes, message))
    trips.roles.append(try await roundTrip(fixes))
}
for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
    let (reference, transports, roles) = (
        trips.reference.map { $0.percentile(share) }.median, trips.transports.map { $0.percentile(share) }.median,
        trips.roles.map { $0.percentile(share) }.median
    )
    report.compare(
        "round trip at 1,000/s, message, MQTTTransport: \(name)", reference: reference, measured: transports, "µs",
        .atMost(2))
    report.compare(
        "round trip at 1,000/s, fix, AssetPublisher → AssetSubscriber: \(name)", reference: reference, measured: roles,
        "µs", .atMost(2))
}

let causes = try await resolutionLatencies(1_000)
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
