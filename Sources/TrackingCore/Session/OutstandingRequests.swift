/// The requests (publishes and subscriptions) that the broker has not answered yet, each with its purpose.
///
/// Each request gets a number, its token. Tokens count from 1. No token is used twice, also not on a later connection.
/// A late answer is therefore never assigned to another request.
package struct OutstandingRequests<Purpose: Hashable & Sendable>: Sendable {
    @usableFromInline var purposes: [TransportToken: Purpose] = [:]
    @usableFromInline var lastToken: TransportToken = 0

    /// Makes a collection without outstanding requests.
    @inlinable
    package init() {}

    /// Registers a request to the broker with its purpose. The request counts as unanswered until it is removed.
    ///
    /// - Returns: The token of the request, to be sent with the command.
    @inlinable
    package mutating func add(_ purpose: Purpose) -> TransportToken {
        self.lastToken += 1
        self.purposes[self.lastToken] = purpose
        return self.lastToken
    }

    /// Returns `true` if the request with this token is outstanding: the broker has not answered it, and neither
    /// ``removeAll(where:)`` nor ``removeAll()`` has removed it.
    @inlinable
    package func contains(_ token: TransportToken) -> Bool { self.purposes[token] != nil }

    /// Removes the request with this token, because the broker answered it.
    ///
    /// - Returns: The purpose of the request; `nil` if the request was removed before.
    @inlinable
    package mutating func remove(_ token: TransportToken) -> Purpose? { self.purposes.removeValue(forKey: token) }

    /// Removes all requests whose purpose fulfils a condition. The broker's answers to them are ignored.
    package mutating func removeAll(where isRemoved: (Purpose) -> Bool) {
        self.purposes = self.purposes.filter { !isRemoved($0.value) }
    }

    /// Removes all requests, because the connection was lost and the broker will not answer.
    ///
    /// - Returns: The purposes of the removed requests, in the order of the requests.
    package mutating func removeAll() -> [Purpose] {
        defer { self.purposes = [:] }
        return self.purposes.sorted { $0.key < $1.key }.map(\.value)
    }
}
