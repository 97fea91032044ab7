public import TrackingCore

/// The settings of a subscriber, which do not change while it runs.
public struct SubscriberConfiguration: MemberConfiguration, Hashable {
    /// The client id of the connection; the same one that the transport uses.
    public var client: ClientID
    /// The run of the program.
    public var session: SessionID
    /// The root of the topics in the broker's tree.
    public var topicRoot = TopicRoot.standard
    /// The time for which others believe a heartbeat: whole seconds, limited to 1…86,400.
    public var lease: Duration = .seconds(90)
    /// `true` for a subscriber that publishes no presence. Its requests have no effect.
    public var isSilent = false
    /// `true` for a subscriber that is present on a trackable only while it requests a resolution, as one that
    /// subscribes to everything on behalf of other programs.
    public var isPresentOnlyWhileAsking = false
    /// `true` to receive raw locations as well.
    public var wantsRaw = false
    /// `true` to receive also the trips and events that arrive on the recording lane alone, such as those of a
    /// publisher that was restarted while it was not connected. The subscriber receives the whole lane for that and
    /// ignores its points.
    public var wantsRecorded = false
    /// A Boolean value that indicates whether the broker's count of dropped messages is read
    /// (``AssetSubscriber/brokerDrops``).
    public var readsBrokerDrops = false
    /// `true` to watch every trackable below the root, from its first message on.
    public var watchesAll = false
    /// The resolution requested for trackables that are not watched by name; `nil` for none.
    public var requestForAll: Resolution?
    /// The highest number of watched trackables. With ``watchesAll``, trackables that were absent for a day make room;
    /// further ones are reported and ignored.
    public var maximumTrackables = 10_000
    /// `true` if the client id is random and used for this run alone. The orderly goodbye then clears the liveness.
    public var isClientRandom = false

    /// The time from the broker's grant after which a trackable without a message is reported as ``SubscriberEvent/unheard(_:)``.
    public static let silentAfter: Duration = .seconds(10)

    /// The highest age of trips and events of the recording lane that are delivered.
    public static let recordedFor: Duration = .seconds(7 * 86_400)

    /// The time after which the retained positions are taken to be received: after the own liveness came back, or, if
    /// it does not come back, after the broker's last grant.
    static let sweepTime: (confirmed: Duration, unconfirmed: Duration) = (.seconds(2), .seconds(30))

    /// Makes a configuration with the defaults above.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }
}

/// A subscriber's state for one trackable.
public enum SubscriberState: String, Hashable, Sendable, CaseIterable {
    /// No publisher is present, or this program is not connected or not authorised.
    case offline = "OFFLINE"
    /// A publisher is present.
    case online = "ONLINE"
    /// A publisher is present, but has been silent for longer than it announced.
    case stale = "STALE"
    /// Another program uses the client id, or the broker rejects the trackable's name. Final.
    case failed = "FAILED"
}

/// The presence of a trackable's publisher, and its last sign of life.
public struct PublisherPresence: Hashable, Sendable {
    /// The presence, as far as it is known.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// A publisher is present.
        case present = "PRESENT"
        /// No publisher is present.
        case absent = "ABSENT"
        /// This program is not connected or not authorised.
        case unknown = "UNKNOWN"
    }

    /// The presence, as far as it is known.
    public var status: Status
    /// The last sign of the publisher, by this device's wall clock; `nil` if there was none.
    public var lastSeen: UnixTime?

    /// Makes a presence.
    public init(status: Status, lastSeen: UnixTime?) {
        self.status = status
        self.lastSeen = lastSeen
    }
}

/// A location update as it is delivered to the program.
public struct ReceivedUpdate: Hashable, Sendable {
    /// The update.
    public var update: LocationUpdate
    /// The points that the publisher skipped and that were not delivered before, oldest first.
    public var skipped: [Location]
    /// `true` if a newer position was delivered before: this one is history, never the current position.
    public var isLate: Bool
    /// `true` for the broker's retained copy, which may be old.
    public var isRetained: Bool

    /// Makes a received update.
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
    /// A position arrived that was not delivered before.
    case location(TrackableID, ReceivedUpdate)
    /// The retained position was cleared, as `godwit erase` does. A program that keeps delivered positions deletes
    /// them. Delivered once, until a newer position arrives.
    case locationCleared(TrackableID)
    /// The trackables of which the broker retains a position, or of which one arrived since; delivered a little after
    /// each connection was made. The retained position of any other trackable was cleared while this program was not
    /// connected, as `godwit erase` does, or the broker lost it. A position of it that arrives later is delivered
    /// again.
    case positionsKept(Set<TrackableID>)
    /// A raw position arrived, as the receiver measured it (``SubscriberConfiguration/wantsRaw``).
    case raw(TrackableID, ReceivedUpdate)
    /// The state of a trackable changed, with the reason where there is one.
    case state(TrackableID, SubscriberState, TrackingError?)
    /// The presence of the trackable's publisher changed.
    case presence(TrackableID, PublisherPresence)
    /// The broker refuses the subscription to a trackable, or to all trackables (`nil`). The subscription is tried
    /// again, with waits up to 15 minutes. Delivered once until it is granted or the connection changes.
    case refused(TrackableID?, TrackingError)
    /// The broker refuses a message of this subscriber on this topic. Without its presence the publisher does not count
    /// it, and without its request the publisher does not consider its resolution. Positions are delivered all the
    /// same, as far as it may read them. Delivered once for each topic until the connection changes.
    case publishRefused(topic: String, TrackingError)
    /// The resolution in force changed; `nil` while no publisher is present.
    case resolution(TrackableID, ResolutionInForce?)
    /// The current trip, or the last one: each newer version once, the retained one first. `nil` when it was cleared.
    case trip(TrackableID, Trip?)
    /// A trip that ended, from the recording lane (``SubscriberConfiguration/wantsRecorded``). It is history, never the
    /// current trip. Delivered once, unless ``trip(_:_:)`` delivered it.
    case tripRecorded(TrackableID, Trip)
    /// A tracking event, delivered once.
    case event(TrackableID, TrackingEvent)
    /// No message arrived about a trackable that is watched by name, for ``SubscriberConfiguration/silentAfter``: no program has
    /// published it yet, or this user may not read it. Mosquitto grants forbidden subscriptions and sends nothing. Delivered once.
    case silent(TrackableID)
    /// A message that cannot be read was skipped.
    case badMessage(topic: String, TrackingError)
    /// The connection was made (`nil`), lost, or could not be made.
    case connection(Disconnection?)
}
