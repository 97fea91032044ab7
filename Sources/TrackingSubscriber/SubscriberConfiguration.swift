public import TrackingCore

/// The settings of a subscriber, which do not change while it runs.
public struct SubscriberConfiguration: MemberConfiguration, Hashable {
    /// The client id of the subscriber at the broker; the transport must use the same one.
    public var client: ClientID
    /// The identifier of this run of the program.
    public var session: SessionID
    /// The topic prefix below which all tracking topics are.
    public var topicRoot = TopicRoot.standard
    /// The lease of the subscriber: publishers count it as present for this time after each of its heartbeats. Whole
    /// seconds, limited to 1…86,400.
    public var lease: Duration = .seconds(90)
    /// `true` for a subscriber that publishes no presence. Publishers do not count it, and its resolution requests have
    /// no effect.
    public var isSilent = false
    /// `true` for a subscriber that is present on a trackable only while it requests a resolution for it. This suits a
    /// program that watches everything on behalf of other programs.
    public var isPresentOnlyWhileAsking = false
    /// `true` to receive raw positions, as the receiver measured them, as well.
    public var wantsRaw = false
    /// `true` to receive also the trips and events that arrive only in batches of records (the recording lane of the
    /// protocol), such as those of a publisher that was restarted while it was not connected. The subscriber receives
    /// all batches for that and ignores their points.
    public var wantsRecorded = false
    /// `true` to read the broker's count of dropped messages (``AssetSubscriber/brokerDrops``).
    public var readsBrokerDrops = false
    /// `true` to watch every trackable below the topic root, each from its first message on.
    public var watchesAll = false
    /// The resolution that the subscriber requests for trackables that it does not watch by name; `nil` for none.
    public var requestForAll: Resolution?
    /// The largest number of watched trackables. With ``watchesAll``, trackables without a publisher for a day make
    /// room for new ones; without room, new trackables are reported and ignored.
    public var maximumTrackables = 10_000
    /// `true` if the client id is random and used for this run only. The orderly goodbye then clears the client's
    /// liveness at the broker.
    public var isClientRandom = false

    /// The time without a message after the broker granted the subscriptions, after which a trackable is reported as
    /// ``SubscriberEvent/silent(_:)``.
    public static let silentAfter: Duration = .seconds(10)

    /// The largest age at which the subscriber delivers a trip or event from a batch of records: 7 days. Older ones are
    /// ignored.
    public static let recordedFor: Duration = .seconds(7 * 86_400)

    /// The time after which all retained positions are assumed to be received: 2 s after the subscriber's own liveness
    /// came back from the broker, or 30 s after the broker's last grant if the liveness does not come back.
    static let sweepTime: (confirmed: Duration, unconfirmed: Duration) = (.seconds(2), .seconds(30))

    /// Creates a configuration with the default value of each setting.
    ///
    /// - Parameters:
    ///   - client: The client id of the subscriber.
    ///   - session: The identifier of this run of the program.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }
}

/// The state of a subscriber for one trackable that it watches.
public enum SubscriberState: String, Hashable, Sendable, CaseIterable {
    /// No publisher of the trackable is present, or this program is not connected or not authorised to read the
    /// trackable.
    case offline = "OFFLINE"
    /// A publisher of the trackable is present.
    case online = "ONLINE"
    /// A publisher of the trackable is present, but has been silent for longer than it announced.
    case stale = "STALE"
    /// Another program uses this program's client id, or the broker rejects the trackable's name. Final.
    case failed = "FAILED"
}

/// The presence of a trackable's publisher, and the time of its last message.
public struct PublisherPresence: Hashable, Sendable {
    /// The presence of a trackable's publisher, as far as the subscriber knows it.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// A publisher of the trackable is present.
        case present = "PRESENT"
        /// No publisher of the trackable is present.
        case absent = "ABSENT"
        /// The presence is unknown, because this program is not connected or not authorised to read the trackable.
        case unknown = "UNKNOWN"
    }

    /// The presence of the trackable's publisher, as far as the subscriber knows it.
    public var status: Status
    /// The time of the publisher's last message, by this device's wall clock; `nil` if none was received.
    public var lastSeen: UnixTime?

    /// Creates the presence of a trackable's publisher.
    public init(status: Status, lastSeen: UnixTime?) {
        self.status = status
        self.lastSeen = lastSeen
    }
}

/// A location update as a subscriber delivers it to the program.
public struct ReceivedUpdate: Hashable, Sendable {
    /// The location update as the publisher published it.
    public var update: LocationUpdate
    /// The points before this update that the publisher skipped on the live topic and that were not delivered before,
    /// oldest first.
    public var skipped: [Location]
    /// `true` if a newer position of the trackable was delivered before. A late position is part of the history, and
    /// never the current position.
    public var isLate: Bool
    /// `true` if the update is the broker's retained copy, which may be old.
    public var isRetained: Bool

    /// Creates a received update.
    public init(update: LocationUpdate, skipped: [Location], isLate: Bool, isRetained: Bool) {
        self.update = update
        self.skipped = skipped
        self.isLate = isLate
        self.isRetained = isRetained
    }

    /// The place of the position.
    public var coordinate: Coordinate { self.update.location.coordinate }
}

/// An event that a subscriber delivers to the program.
public enum SubscriberEvent: Hashable, Sendable {
    /// A position of the trackable arrived that was not delivered before.
    case location(TrackableID, ReceivedUpdate)
    /// The retained position of the trackable was cleared, as `godwit erase` does. A program that stores delivered
    /// positions deletes them. Delivered once, until a newer position arrives.
    case locationCleared(TrackableID)
    /// The trackables of which the broker retains a position, or of which a position arrived since. Delivered about 2
    /// to 30 s after each connection was made.
    ///
    /// The retained position of any other trackable was cleared while this program was not connected, as `godwit erase`
    /// does, or the broker lost it. A later position of such a trackable is delivered again.
    case positionsKept(Set<TrackableID>)
    /// A raw position of the trackable arrived, as the receiver measured it (``SubscriberConfiguration/wantsRaw``).
    case raw(TrackableID, ReceivedUpdate)
    /// The subscriber's state for a trackable changed. The error is the reason; `nil` where there is none.
    case state(TrackableID, SubscriberState, TrackingError?)
    /// The presence of the trackable's publisher changed.
    case presence(TrackableID, PublisherPresence)
    /// The broker rejects the subscription to a trackable, or to all trackables (`nil`). The subscriber tries again,
    /// with waits up to 15 minutes. Delivered once, until the subscription is granted or the connection changes.
    case refused(TrackableID?, TrackingError)
    /// The broker rejects the subscriber's presence or resolution request on this topic. Without the presence the
    /// publisher does not count the subscriber, and without the request the publisher does not consider its resolution.
    /// Positions are delivered all the same, as far as the subscriber may read them. Delivered once for each topic
    /// until the connection changes.
    case publishRefused(topic: String, TrackingError)
    /// The resolution in force of the trackable changed; `nil` while no publisher is present.
    case resolution(TrackableID, ResolutionInForce?)
    /// The current or the last trip of the trackable: each newer version of the trip once, the retained version first;
    /// `nil` when the trip was cleared.
    case trip(TrackableID, Trip?)
    /// A trip that ended, from a batch of records (``SubscriberConfiguration/wantsRecorded``). It is part of the
    /// history, and never the current trip. Delivered once, unless ``trip(_:_:)`` delivered it.
    case tripRecorded(TrackableID, Trip)
    /// A tracking event of the trackable, delivered once.
    case event(TrackableID, TrackingEvent)
    /// No message about a trackable that is watched by name arrived for ``SubscriberConfiguration/silentAfter``. Either
    /// no program has published it yet, or this user may not read it: Mosquitto grants forbidden subscriptions and
    /// sends nothing. Delivered once.
    case silent(TrackableID)
    /// An invalid message on this topic was skipped. The error names the reason.
    case badMessage(topic: String, TrackingError)
    /// The connection to the broker was made (`nil`), was lost, or could not be made.
    case connection(Disconnection?)
}
