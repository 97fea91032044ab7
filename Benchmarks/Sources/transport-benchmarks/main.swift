// The cost of the MQTT connection itself: publishing, and receiving with decoding, compared with C on the same library
// and loop.

import BenchmarkSupport
import CReference
import Glibc
import TrackingCore
import TrackingMQTT

let rounds = 7
let broker = try Broker()

/// Returns the median of the messages a second, and of the microseconds of processor time a message.
func figures(_ costs: [Cost], count: Int) -> (rate: Double, cpu: Double) {
    (
        costs.map { Double(count) / $0.seconds }.median,
        costs.map { $0.cpuSeconds * 1e6 / Double(count) }.median
    )
}

var report = Report()

let payload = [UInt8](repeating: 0x78, count: 200)
let published = 40_000
let publishing = try await alternate(
    rounds: rounds, { try referencePublish(payload, count: published) },
    { try await publish(payload, count: published) })
let publishingC = figures(publishing.reference, count: published)
let publishingSwift = figures(publishing.measured, count: published)
report.compare(
    "QoS 1 publish, 200-byte payload", reference: publishingC.rate, measured: publishingSwift.rate, "messages/s",
    .atLeast(0.8))
report.compare(
    "the same, processor time a message", reference: publishingC.cpu, measured: publishingSwift.cpu, "µs")

let received = 40_000
let receiving = try await alternate(
    rounds: rounds, { try await referenceReceive(count: received) }, { try await receive(count: received) })
let receivingC = figures(receiving.reference, count: received)
let receivingSwift = figures(receiving.measured, count: received)
report.compare(
    "receive and decode location updates", reference: receivingC.rate, measured: receivingSwift.rate, "messages/s",
    .atLeast(0.5))
report.compare(
    "the same, processor time a message", reference: receivingC.cpu, measured: receivingSwift.cpu, "µs")

if !report.isMet { exit(1) }
