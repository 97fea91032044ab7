import Synchronization
import TrackingCore

/// The publishes that the broker accepted although no client has subscribed to their topics. Each remains until
/// ``remove(_:)`` is called for it.
final class UnmatchedPublishes: Sendable {
    private let tokens = Mutex<Set<TransportToken>>([])
    private let version = Mutex<ConnectionStateMachine.Version?>(nil)

    /// The protocol version of the last connection that the broker accepted; `nil` before the first.
    var acceptedVersion: ConnectionStateMachine.Version? { self.version.withLock { $0 } }

    /// Records the protocol version of a connection that the broker accepted.
    func accepted(_ version: ConnectionStateMachine.Version?) { self.version.withLock { $0 = version } }

    func insert(_ token: TransportToken) { self.tokens.withLock { _ = $0.insert(token) } }

    /// Removes a publish from those without a subscriber, after the broker answered it.
    ///
    /// - Returns: `true` if no client had subscribed to the topic of the publish.
    func remove(_ token: TransportToken) -> Bool { self.tokens.withLock { $0.remove(token) != nil } }
}
