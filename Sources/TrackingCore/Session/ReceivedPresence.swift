/// A presence that arrived on the topic of its kind, or the clearing of one.
package struct ReceivedPresence: Hashable, Sendable {
    /// Publisher or subscriber.
    package let kind: MemberKind
    /// The trackable of the topic.
    package let trackable: TrackableID
    /// The client of the topic.
    package let client: ClientID
    /// The presence; `nil` when it was cleared.
    package let presence: Presence?
    /// `true` for the broker's retained copy.
    package let isRetained: Bool

    /// Decodes a presence.
    ///
    /// - Throws: `invalidPayload` for a payload that cannot be read or is of the other kind.
    init(
        _ message: IncomingMessage, of kind: MemberKind, on trackable: TrackableID, from client: ClientID
    ) throws(TrackingError) {
        self.kind = kind
        self.trackable = trackable
        self.client = client
        self.presence =
            message.payload.isEmpty ? nil : try MessageCodec.decodePresence(message.payload, expecting: kind)
        self.isRetained = message.isRetained
    }
}
