/// A received presence message, by which a client announces that it tracks or watches a trackable. An empty message
/// withdraws the announcement.
package struct ReceivedPresence: Hashable, Sendable {
    /// The kind of the client on the trackable: publisher or subscriber.
    package let kind: MemberKind
    /// The trackable that the topic of the message names.
    package let trackable: TrackableID
    /// The client that the topic of the message names.
    package let client: ClientID
    /// The announced presence; `nil` when the message withdraws it.
    package let presence: Presence?
    /// `true` for the broker's retained copy; `false` for a newly published message.
    package let isRetained: Bool

    /// Decodes a received presence message.
    ///
    /// - Throws: `invalidPayload` for a payload that cannot be read, or for a publisher's presence on the topic of a
    ///   subscriber or the reverse; `payloadTooLarge` for a payload above ``WireLimits/maximumStateBytes``.
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
