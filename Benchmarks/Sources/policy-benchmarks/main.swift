// What one event costs a publisher that 10,000 subscribers watch, against what it costs one that ten watch: a subscriber
// joins, asks, leaves. The messages go the way of real ones: bytes into PublisherStateMachine, its answers acknowledged.

import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingPublisher

let few = 10
let many = 10_000
let rounds = 21
let visits = 2_000

var report = Report()
let visitors = try (many..<(many + 500)).map { try Visitor($0) }
let finest = try Resolution(accuracy: .maximum, desiredInterval: .zero, minimumDisplacement: 0)
let kinds = [
    ("joins, asks for something usual, leaves", visitors),
    ("joins, asks for the finest, leaves", try (many..<(many + 500)).map { try Visitor($0, asks: finest) }),
]
for (name, visitors) in kinds {
    var small = try WatchedPublisher(watchers: few)
    var large = try WatchedPublisher(watchers: many)
    var costs: (small: [Double], large: [Double]) = ([], [])
    for _ in 0..<rounds {
        costs.small.append(small.microsecondsAnEvent(visitors, visits: visits))
        costs.large.append(large.microsecondsAnEvent(visitors, visits: visits))
    }
    // Each visitor that joins or leaves changes the number of subscribers.
    guard min(small.changes, large.changes) >= 2 * rounds * visits else {
        throw BenchmarkError("the two publishers did not follow their visitors: \(small.changes), \(large.changes)")
    }
    report.compare(
        "policy among 10,000, an event: \(name)", reference: costs.small.median,
        measured: costs.large.median, "µs", .atMost(2))
}
if !report.isMet { exit(1) }
