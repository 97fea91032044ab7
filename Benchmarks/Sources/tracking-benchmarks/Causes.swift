import BenchmarkSupport
import TrackingCore
import TrackingMQTT
import TrackingSubscriber

/// Measures `count` times the milliseconds from a subscriber's request to the message with the resolution in force.
/// Both messages pass the broker.
///
/// Each request follows a quiet second: within a second of a change the publisher delays the next one.
func resolutionLatencies(_ count: Int) async throws -> [Double] {
    let publisher = try makePublisher(van)
    let watcher = try makeSubscriber("watcher")
    return try await running(publisher, watcher) {
        var resolutions = watcher.resolutions(of: van).makeAsyncIterator()
        try await bringOnline(publisher, watcher)
        var latencies: [Double] = []
        // The arrival of the subscriber changes the resolution too, at the latest after one more pause.
        try await Task.sleep(for: ChangePause.length)
        for number in 1...count {
            try await Task.sleep(for: ChangePause.length + .milliseconds(50))
            let wanted = try Resolution(
                accuracy: .high, desiredInterval: .milliseconds(1_000 + number), minimumDisplacement: 1)
            let start = secondsNow()
            watcher.request(wanted, for: van)
            while let inForce = try await resolutions.next(), inForce.resolution != wanted {}
            latencies.append((secondsNow() - start) * 1e3)
        }
        return latencies
    }
}
