import Synchronization
import TrackingCore

/// The retained messages and kept sessions that a certification has left at the broker so far.
final class CertificationTraces: Sendable {
    private struct State {
        var topics: Set<String> = []
        var clients: Set<ClientID> = []
        /// `true` if the broker delivered retained messages whose removal it had accepted.
        var hasFailedRemoval = false
    }

    private let state = Mutex(State())

    /// The topics that may have a retained message.
    var topics: [String] { self.state.withLock { Array($0.topics) } }
    /// The client ids that may have a session.
    var clients: [ClientID] { self.state.withLock { Array($0.clients) } }

    /// Adds a topic. Returns `true` if the topic is new.
    func retain(_ topic: String) -> Bool { self.state.withLock { $0.topics.insert(topic).inserted } }
    /// Removes a topic that has no retained message.
    func forget(_ topic: String) { self.state.withLock { _ = $0.topics.remove(topic) } }
    /// Keeps all topics, also those whose removal the broker accepts later.
    func noteFailedRemoval() { self.state.withLock { $0.hasFailedRemoval = true } }
    /// Removes all topics after the broker accepted their removal, unless a removal had no effect before.
    func forgetRemovedTopics() { self.state.withLock { if !$0.hasFailedRemoval { $0.topics = [] } } }

    /// Adds a client with a kept session.
    func keep(_ client: ClientID) { self.state.withLock { _ = $0.clients.insert(client) } }
    /// Removes a client whose session has ended.
    func forget(_ client: ClientID) { self.state.withLock { _ = $0.clients.remove(client) } }
}
