package import TrackingCore

/// What all live streams together ask for: one resolution a trackable, the finest of theirs.
package struct RequestPool: Sendable {
    /// What is to be asked of the broker from now on; `nil`: nothing.
    package struct Change: Hashable, Sendable {
        /// Of which trackable.
        package let trackable: TrackableID
        /// The finest of all requests.
        package let resolution: Resolution?
    }

    private var books: [TrackableID: RequestBook] = [:]
    private var asked: [LiveStreamID: Set<TrackableID>] = [:]

    /// The most trackables that one stream asks for at once.
    package static let maximumTrackables = 1_000

    /// Makes an empty pool.
    package init() {}

    /// Whether a stream may ask for one more trackable, or for this one anew.
    package func hasRoom(for trackable: TrackableID, of stream: LiveStreamID) -> Bool {
        guard let asked = self.asked[stream], !asked.contains(trackable) else { return true }
        return asked.count < Self.maximumTrackables
    }

    /// A stream asks for a resolution, in place of what it asked for before.
    package mutating func ask(
        _ resolution: Resolution, for trackable: TrackableID, by stream: LiveStreamID
    ) -> Change? {
        self.asked[stream, default: []].insert(trackable)
        return self.change(trackable) { $0.set(stream.member, to: resolution) }
    }

    /// A stream asks for nothing any more.
    package mutating func drop(_ trackable: TrackableID, by stream: LiveStreamID) -> Change? {
        self.asked[stream]?.remove(trackable)
        return self.change(trackable) { $0.remove(stream.member) }
    }

    /// A stream ended.
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

/// Names one live stream; random, and known to its caller alone.
package struct LiveStreamID: Hashable, Sendable, CustomStringConvertible {
    /// To the pool a stream is what a run of a program is to a publisher.
    let member: SubscriberID

    /// As text.
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
