/// The publishes and subscriptions that the broker has not answered yet on one connection, each with its purpose.
///
/// Tokens count from 1 over all connections, so that an answer is never assigned to a later request. The type is
/// inlinable, because a role uses it for every message.
package struct OutstandingRequests<Purpose: Hashable & Sendable>: Sendable {
    @usableFromInline var purposes: [TransportToken: Purpose] = [:]
    @usableFromInline var lastToken: TransportToken = 0

    /// Makes an empty collection.
    @inlinable
    package init() {}

    /// Adds a request.
    ///
    /// - Returns: The token of the command.
    @inlinable
    package mutating func add(_ purpose: Purpose) -> TransportToken {
        self.lastToken += 1
        self.purposes[self.lastToken] = purpose
        return self.lastToken
    }

    /// Returns `true` if the request of this token is not answered yet.
    @inlinable
    package func contains(_ token: TransportToken) -> Bool { self.purposes[token] != nil }

    /// Removes an answered request.
    ///
    /// - Returns: Its purpose, or `nil` if the request was removed before.
    @inlinable
    package mutating func remove(_ token: TransportToken) -> Purpose? { self.purposes.removeValue(forKey: token) }

    /// Removes all requests that fulfil a condition. Their answers are ignored.
    package mutating func removeAll(where isRemoved: (Purpose) -> Bool) {
        self.purposes = self.purposes.filter { !isRemoved($0.value) }
    }

    /// Removes all requests, after the connection was lost.
    ///
    /// - Returns: Their purposes, in the order of the requests.
    package mutating func removeAll() -> [Purpose] {
        defer { self.purposes = [:] }
        return self.purposes.sorted { $0.key < $1.key }.map(\.value)
    }
}
