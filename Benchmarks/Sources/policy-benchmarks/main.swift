// The cost of one event for a publisher with 10,000 subscribers, compared with one that has ten: a subscriber joins,
// asks or leaves. Messages take the real path: they enter PublisherStateMachine as bytes, and its publishes are
// acknowledged.

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
        throw BenchmarkError(
            "the publishers' resolutions did not change with every subscriber that joined or left: \(small.changes) and \(large.changes) changes"
        )
    }
    report.compare(
        "policy among 10,000, an event: \(name)", reference: costs.small.median,
        measured: costs.large.median, "µs", .atMost(2))
}
if !report.isMet { exit(1) }
