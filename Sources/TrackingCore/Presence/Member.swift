/// A member: a publisher or subscriber of a trackable, as another client knows it.
package struct Member: Hashable, Sendable {
    /// The trackable that the member publishes or watches.
    package var trackable: TrackableID
    /// The client id of the member.
    package var client: ClientID
    /// The content of the member's presence message, the retained message that announces the member on the trackable.
    @Boxed package var presence: Presence

    /// Makes a member from its trackable, its client id and its presence message.
    package init(trackable: TrackableID, client: ClientID, presence: Presence) {
        self.trackable = trackable
        self.client = client
        self._presence = Boxed(wrappedValue: presence)
    }

    /// Makes a member that shares the stored content of its presence message.
    init(trackable: TrackableID, client: ClientID, shared presence: Boxed<Presence>) {
        self.trackable = trackable
        self.client = client
        self._presence = presence
    }
}
