import BenchmarkSupport
import TrackingCore
import TrackingMQTT
import TrackingSubscriber

/// A subscriber asks for another resolution, `count` times, and waits each time until the publisher says that it is in
/// force; milliseconds each, the broker passed twice.
func resolutionLatencies(_ count: Int) async throws -> [Double] {
    let publisher = try makePublisher(van)
    let watcher = try makeSubscriber("watcher")
    return try await running(publisher, watcher) {
        var resolutions = watcher.resolutions(of: van).makeAsyncIterator()
        try await bringOnline(publisher, watcher)
        var latencies: [Double] = []
        for number in 1...count {
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
