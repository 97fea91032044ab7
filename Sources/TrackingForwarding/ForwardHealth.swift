import Synchronization
import TrackingSinks

/// The reasons for which sinks do not acknowledge points at present, for health checks.
package final class ForwardHealth: Sendable {
    private let reasons = Mutex<[String: String]>([:])

    /// Creates a state in which no sink has failed.
    package init() {}

    /// Sets the reason for which a sink does not acknowledge points; `nil` if it does.
    func set(_ sink: ForwardAddress, _ reason: String?) {
        self.reasons.withLock { $0[sink.name] = reason.map { "\(sink): \($0)" } }
    }

    /// The reason for which one of the sinks does not acknowledge points; `nil` if all do.
    package var reason: String? {
        self.reasons.withLock { $0.min { $0.key < $1.key }?.value }
    }
}
