public import TrackingCore

/// What a subscriber is told once.
public struct SubscriberConfiguration: MemberConfiguration, Hashable {
    /// The name of the connection; the same one the transport uses.
    public var client: ClientID
    /// This run of the program.
    public var session: SessionID
    /// Where in the broker's tree the topics live.
    public var topicRoot = TopicRoot.standard
    /// How long others believe a heartbeat, in whole seconds; beyond 1…86,400 the nearest of these counts.
    public var lease: Duration = .seconds(90)
    /// Whether it watches without being counted present; requests then have no effect.
    public var isSilent = false
    /// Whether it is counted present on a trackable only while it asks for a resolution of it: for one that hears everything
    /// on behalf of others, who come and go.
    public var isPresentOnlyWhileAsking = false
    /// Whether raw locations are wanted as well.
    public var wantsRaw = false
    /// Whether trips and events are wanted, too, that the recording lane alone brings, as of a publisher that was restarted while it
    /// was away. All of that lane is heard for it, and its points are passed over.
    public var wantsRecorded = false
    /// A Boolean value that indicates whether the broker's count of dropped messages is read (``AssetSubscriber/brokerDrops``).
    public var readsBrokerDrops = false
    /// Whether every trackable under the root is watched, as it shows up.
    public var watchesAll = false
    /// What is asked for on trackables that show up by themselves.
    public var requestForAll: Resolution?
    /// The most trackables that are watched at once. Where all are watched, those that were absent for a day make room; more
    /// are reported and left alone.
    public var maximumTrackables = 10_000
    /// Whether the client id was drawn for this run alone, so that an orderly goodbye leaves nothing behind.
    public var isClientRandom = false

    /// How long nothing is heard of a trackable, from the broker's grant on, until ``SubscriberEvent/unheard(_:)`` says so.
    public static let unheardAfter: Duration = .seconds(10)

    /// So long ago something may have happened that the recording lane alone brings, and still be told.
    public static let recordedFor: Duration = .seconds(7 * 86_400)

    /// What the broker keeps counts as heard so long after the own liveness came back, which was published behind it; and where
    /// that does not come back, so long after the broker's last grant.
    static let keptAfter: (Duration, unconfirmed: Duration) = (.seconds(2), .seconds(30))

    /// Makes a configuration with the defaults above.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }
}

/// A subscriber's state for one trackable.
public enum SubscriberState: String, Hashable, Sendable, CaseIterable {
    /// This side is not connected or not authorised, or no publisher is present.
    case offline = "OFFLINE"
    /// A publisher is present.
    case online = "ONLINE"
    /// A publisher is present, and nothing arrived for longer than it said it would be silent.
    case stale = "STALE"
    /// Taken over, or refused for good; final.
    case failed = "FAILED"
}

/// Whether a publisher is there, and when it was last heard.
public struct PublisherPresence: Hashable, Sendable {
    /// What is known.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        case present = "PRESENT"
        case absent = "ABSENT"
        /// This side is not connected.
        case unknown = "UNKNOWN"
    }

    /// What is known.
    public var status: Status
    /// When the publisher was last heard, on this device's wall clock; `nil` when never.
    public var lastSeen: UnixTime?

    /// Makes a presence.
    public init(status: Status, lastSeen: UnixTime?) {
        self.status = status
        self.lastSeen = lastSeen
    }
}

/// A location update as a subscriber is told it.
public struct ReceivedUpdate: Hashable, Sendable {
    /// What arrived.
    public var update: LocationUpdate
    /// The skipped points that were not seen before, oldest first.
    public var skipped: [Location]
    /// Whether a newer position was told before: this one is history, never the current position.
    public var isLate: Bool
    /// Whether it is the broker's kept copy and not a message of just now.
    public var isRetained: Bool

    /// Makes a received update.
    public init(update: LocationUpdate, skipped: [Location], isLate: Bool, isRetained: Bool) {
        self.update = update
        self.skipped = skipped
        self.isLate = isLate
        self.isRetained = isRetained
    }
}

/// What a subscriber tells about a trackable.
public enum SubscriberEvent: Hashable, Sendable {
    /// A position.
    case location(TrackableID, ReceivedUpdate)
    /// What the broker kept as the last position was cleared, as `godwit erase` does: whoever keeps positions that were told
    /// forgets them. Told once, until a newer position comes.
    case locationCleared(TrackableID)
    /// What the broker keeps was heard, a little after each connection was made: of these trackables it keeps a position, or one
    /// came. Of any other whose position was told it keeps none: it was cleared while this side was away, as `godwit erase`
    /// does, or the broker lost it. Should one come all the same, it is told again.
    case positionsKept(Set<TrackableID>)
    /// A position as the receiver told it.
    case raw(TrackableID, ReceivedUpdate)
    /// The state changed; the reason where there is one.
    case state(TrackableID, SubscriberState, TrackingError?)
    /// The publisher came, went, or was lost sight of.
    case presence(TrackableID, PublisherPresence)
    /// The broker refuses this side what there is to hear of a trackable, or of everything (`nil`). It is tried again, with
    /// waits up to 15 minutes; told once until it was granted or the connection changed.
    case refused(TrackableID?, TrackingError)
    /// The broker refuses a message of this side's own, on this topic: without its presence it is not counted as watching, and
    /// without its request nothing is asked for. What there is to hear is heard all the same, as far as it may be read.
    /// Told once a topic until the connection changed.
    case publishRefused(topic: String, TrackingError)
    /// The resolution in force changed; `nil` when none is known any more.
    case resolution(TrackableID, ResolutionInForce?)
    /// The trip under way, or the last one: each newer version once, what the broker keeps first. `nil` when it was cleared.
    case trip(TrackableID, Trip?)
    /// The last version of a trip that ended, of the recording lane (``SubscriberConfiguration/wantsRecorded``): history, never the
    /// trip under way. Told once, unless ``trip(_:_:)`` told it.
    case tripRecorded(TrackableID, Trip)
    /// Something that happened, told once.
    case event(TrackableID, TrackingEvent)
    /// Nothing was ever heard of a trackable that is watched by name, ``SubscriberConfiguration/unheardAfter`` long: nobody
    /// published it yet, or this side may not read it. Mosquitto, for one, grants a forbidden subscription and keeps silent.
    /// Told once.
    case unheard(TrackableID)
    /// A message that cannot be read was skipped.
    case badMessage(topic: String, TrackingError)
    /// The connection was made (`nil`), lost, or could not be made.
    case connection(Disconnection?)
}
