/// A received presence message, by which a client announces that it tracks or watches a trackable. An empty message
/// withdraws the announcement.
package struct ReceivedPresence: Hashable, Sendable {
    /// The role in which the client is present on the trackable: publisher or subscriber. It is the role that the
    /// message's topic states.
    package let kind: MemberKind
    /// The trackable on which the client announces its presence. The topic of the presence message names it.
    package let trackable: TrackableID
    /// The client that announces its presence on the trackable. The topic of the presence message names it.
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
