package import TrackingCore

/// The resolution requests of all live streams: for each trackable, the finest resolution of all streams.
package struct RequestPool: Sendable {
    /// A change of the request to the publisher; a `nil` resolution withdraws the request.
    package struct Change: Hashable, Sendable {
        /// The trackable.
        package let trackable: TrackableID
        /// The finest of all requests.
        package let resolution: Resolution?
    }

    private var books: [TrackableID: RequestBook] = [:]
    private var asked: [LiveStreamID: Set<TrackableID>] = [:]

    /// The most trackables for which one stream has requests.
    package static let maximumTrackables = 1_000

    /// Makes an empty pool.
    package init() {}

    /// Returns `true` if a stream may request this trackable: it already does, or has fewer than the maximum.
    package func hasRoom(for trackable: TrackableID, of stream: LiveStreamID) -> Bool {
        guard let asked = self.asked[stream], !asked.contains(trackable) else { return true }
        return asked.count < Self.maximumTrackables
    }

    /// Sets a stream's request for a trackable, in place of its earlier one.
    package mutating func ask(
        _ resolution: Resolution, for trackable: TrackableID, by stream: LiveStreamID
    ) -> Change? {
        self.asked[stream, default: []].insert(trackable)
        return self.change(trackable) { $0.set(stream.member, to: resolution) }
    }

    /// Withdraws a stream's request for a trackable.
    package mutating func drop(_ trackable: TrackableID, by stream: LiveStreamID) -> Change? {
        self.asked[stream]?.remove(trackable)
        return self.change(trackable) { $0.remove(stream.member) }
    }

    /// Withdraws all requests of a stream that ended.
    package mutating func ended(_ stream: LiveStreamID) -> [Change] {
        (self.asked.removeValue(forKey: stream) ?? []).compactMap { self.drop($0, by: stream) }
    }

    private mutating func change(_ trackable: TrackableID, _ body: (inout RequestBook) -> Void) -> Change? {
        var book = self.books.removeValue(forKey: trackable) ?? RequestBook()
        let before = book.finest
        body(&book)
        let finest = book.finest
        if !book.isEmpty { self.books[trackable] = book }
        return finest == before ? nil : Change(trackable: trackable, resolution: finest)
    }
}

/// The id of a live stream; random, and known only to its caller.
package struct LiveStreamID: Hashable, Sendable, CustomStringConvertible {
    /// The member of the request book: each stream counts as a subscriber's session.
    let member: SubscriberID

    /// The id as text.
    package var description: String { self.member.session.rawValue }

    /// Reads an id; `nil` when it cannot be one.
    package init?(_ text: String) {
        guard let session = SessionID(text), let client = ClientID(topicLevel: "live") else { return nil }
        self.member = SubscriberID(client: client, session: session)
    }

    /// Draws a new one of 128 bits.
    package static func random(using generator: inout some RandomNumberGenerator) -> LiveStreamID {
        let text = (0..<2).map { _ in String(UInt64.random(in: .min ... .max, using: &generator), radix: 36) }
        guard let id = LiveStreamID(text.joined(separator: "-")) else { preconditionFailure("at most 27 characters") }
        return id
    }
}
