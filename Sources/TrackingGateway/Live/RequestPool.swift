package import TrackingCore

/// The resolution requests of all live streams. For each trackable, the gateway sends one request to the publisher: the
/// finest resolution that any stream requests.
package struct RequestPool: Sendable {
    /// A change of the one request that the gateway sends to the publisher of a trackable.
    package struct Change: Hashable, Sendable {
        /// The trackable to whose publisher the gateway sends the changed request.
        package let trackable: TrackableID
        /// The finest resolution that the live streams now request; `nil` if the gateway must withdraw its request.
        package let resolution: Resolution?
    }

    private var books: [TrackableID: RequestBook] = [:]
    private var asked: [LiveStreamID: Set<TrackableID>] = [:]

    /// The largest number of trackables for which one live stream can request resolutions.
    package static let maximumTrackables = 1_000

    /// Creates a pool in which no live stream requests a resolution.
    package init() {}

    /// Returns `true` if a live stream may request a resolution of this trackable. A stream may request resolutions of
    /// at most ``maximumTrackables`` trackables; a repeated request for one of them is always allowed.
    package func hasRoom(for trackable: TrackableID, of stream: LiveStreamID) -> Bool {
        guard let asked = self.asked[stream], !asked.contains(trackable) else { return true }
        return asked.count < Self.maximumTrackables
    }

    /// Sets a live stream's resolution request for a trackable, in place of the stream's earlier one.
    ///
    /// - Returns: The resulting change of the gateway's request to the publisher; `nil` if that request stays the same.
    package mutating func ask(
        _ resolution: Resolution, for trackable: TrackableID, by stream: LiveStreamID
    ) -> Change? {
        self.asked[stream, default: []].insert(trackable)
        return self.change(trackable) { $0.set(stream.member, to: resolution) }
    }

    /// Withdraws a live stream's resolution request for a trackable.
    ///
    /// - Returns: The resulting change of the gateway's request to the publisher; `nil` if that request stays the same.
    package mutating func drop(_ trackable: TrackableID, by stream: LiveStreamID) -> Change? {
        self.asked[stream]?.remove(trackable)
        return self.change(trackable) { $0.remove(stream.member) }
    }

    /// Withdraws all resolution requests of a live stream that has ended.
    ///
    /// - Returns: The resulting changes of the gateway's requests to publishers.
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

/// The id of a live stream: 128 random bits, known only to its caller.
package struct LiveStreamID: Hashable, Sendable, CustomStringConvertible {
    /// The live stream's id in the form of a subscriber's id. The stream's resolution requests are stored under this
    /// id, as those of a subscriber are.
    let member: SubscriberID

    /// The id of the live stream as text.
    package var description: String { self.member.session.rawValue }

    /// Reads the id of a live stream from a client's text; `nil` if the text is invalid.
    package init?(_ text: String) {
        guard let session = SessionID(text), let client = ClientID(topicLevel: "live") else { return nil }
        self.member = SubscriberID(client: client, session: session)
    }

    /// Returns a new id for a live stream, made of 128 random bits.
    package static func random(using generator: inout some RandomNumberGenerator) -> LiveStreamID {
        let text = (0..<2).map { _ in String(UInt64.random(in: .min ... .max, using: &generator), radix: 36) }
        guard let id = LiveStreamID(text.joined(separator: "-")) else { preconditionFailure("at most 27 characters") }
        return id
    }
}
