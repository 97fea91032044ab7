import Synchronization
import TrackingCore

/// The publishes that the broker accepted although no client had subscribed to their topics. Each publish remains in
/// this set until ``remove(_:)`` is called for it.
final class UnmatchedPublishes: Sendable {
    private let tokens = Mutex<Set<TransportToken>>([])
    private let version = Mutex<ConnectionStateMachine.Version?>(nil)

    /// The MQTT version of the connection that the broker accepted last; `nil` before the first.
    var acceptedVersion: ConnectionStateMachine.Version? { self.version.withLock { $0 } }

    /// Stores the MQTT version of a connection that the broker accepted.
    func accepted(_ version: ConnectionStateMachine.Version?) { self.version.withLock { $0 = version } }

    func insert(_ token: TransportToken) { self.tokens.withLock { _ = $0.insert(token) } }

    /// Removes a publish from the set, after the broker has answered it.
    ///
    /// - Returns: `true` if the publish was in the set: no client had subscribed to its topic.
    func remove(_ token: TransportToken) -> Bool { self.tokens.withLock { $0.remove(token) != nil } }
}
