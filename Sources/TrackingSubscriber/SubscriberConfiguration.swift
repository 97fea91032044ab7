public import TrackingCore

/// The settings of a subscriber, which do not change while it runs.
public struct SubscriberConfiguration: MemberConfiguration, Hashable {
    /// The client id of the subscriber at the broker. The subscriber's connection must use the same client id.
    public var client: ClientID
    /// The identifier of this run of the program, which distinguishes it from other runs with the same client id.
    public var session: SessionID
    /// The first levels of every topic, `tracking` by default.
    public var topicRoot = TopicRoot.standard
    /// The lease of the subscriber: the time after each of its heartbeats for which publishers count it as present.
    /// Whole seconds from 1 to 86,400.
    public var lease: Duration = .seconds(90)
    /// The time for which publishers still count the subscriber as present after its connection broke, in whole seconds,
    /// 1…86,400, but not beyond ``lease``. With `nil`, the time is 2 s. An orderly end is not affected.
    public var remainsPresentFor: Duration?
    /// `true` for a subscriber that does not announce its presence. Publishers do not count it as a subscriber, and it
    /// cannot request a resolution.
    public var isSilent = false
    /// `true` for a subscriber that announces its presence on a trackable only while it requests a resolution for it.
    /// Otherwise it announces its presence on every watched trackable. The value `true` suits a program that watches
    /// everything on behalf of other programs.
    public var isPresentOnlyWhileAsking = false
    /// `true` to receive raw positions too: positions as the receiver measured them, without the publisher's filters.
    public var wantsRaw = false
    /// The kind of positions to deliver where both exist: those that publishers publish, or enhanced ones on the road. A
    /// program can choose another kind for a single trackable (``AssetSubscriber/watch(_:requesting:preferring:)``).
    public var prefers = PositionKind.published
    /// `true` to receive also the journeys of the watched trackables, and the estimated arrival times at their stops.
    public var wantsJourneys = false
    /// `true` to receive also trips and events that were not published live and arrive only in batches of records for
    /// recorders. A publisher that was not connected sends such batches later. The subscriber receives all batches for
    /// that, and ignores the points in them.
    public var wantsRecorded = false
    /// `true` to read the broker's count of dropped messages (``AssetSubscriber/brokerDrops``).
    public var readsBrokerDrops = false
    /// `true` to watch every trackable below the topic root. Each is watched from its first received message on.
    public var watchesAll = false
    /// The resolution that the subscriber requests for each trackable that it watches because of ``watchesAll``,
    /// without a call of the program for that trackable; `nil` for none.
    public var requestForAll: Resolution?
    /// The largest number of watched trackables, if ``watchesAll`` is `true`. When it is reached, trackables that have
    /// had no publisher for a day are no longer watched. If there are none, a new trackable is not watched, and an
    /// event reports that.
    public var maximumTrackables = 10_000
    /// `true` if the client id is random and used for this run only. At an orderly end, the subscriber then clears its
    /// liveness, the retained message about its being online.
    public var isClientRandom = false

    /// The time after which a trackable without any received message is reported as ``SubscriberEvent/silent(_:)``. It
    /// begins when the broker has granted the subscriptions.
    public static let silentAfter: Duration = .seconds(10)

    /// The largest age of a trip or event that the subscriber delivers from a batch of records: 7 days. Older trips and
    /// events in batches are ignored.
    public static let recordedFor: Duration = .seconds(7 * 86_400)

    /// The time after which the subscriber assumes that it has received all positions that the broker retains.
    ///
    /// After its subscriptions, the subscriber publishes its own liveness message. `confirmed` is the time after the
    /// broker has sent that message back, and `unconfirmed` the time if the broker does not send it back.
    static let sweepTime: (confirmed: Duration, unconfirmed: Duration) = (.seconds(2), .seconds(30))

    /// Creates the configuration of a subscriber with this client id and session; all other settings have their default
    /// values.
    ///
    /// - Parameters:
    ///   - client: The client id of the subscriber.
    ///   - session: The identifier of this run of the program.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }
}

/// The kind of the positions that a subscriber delivers: as published, or on the road.
public enum PositionKind: String, Hashable, Sendable, CaseIterable {
    /// The positions as publishers publish them.
    case published
    /// The positions on the road, which an enhancer makes of the published ones. Each replaces the published position of
    /// the same fix.
    ///
    /// The published positions are delivered while there is no enhancer: at first, and when no enhanced position has
    /// arrived for two intervals of the resolution in force, at least 2 s. A position is never delayed by more than 10 s,
    /// and never older than the one delivered before it. ``/TrackingCore/LocationUpdate/enhancement`` is `nil` in a
    /// published position.
    case enhanced
}

/// The state of a watched trackable as the subscriber sees it: offline, online, stale or failed.
public enum SubscriberState: String, Hashable, Sendable, CaseIterable {
    /// No publisher of the trackable is present, or this program is not connected, or it may not read the trackable.
    case offline = "OFFLINE"
    /// A publisher of the trackable is present, and the time without a position has not exceeded the limit of
    /// ``stale``.
    case online = "ONLINE"
    /// A publisher of the trackable is present, but no position has arrived for longer than the publisher's maximum
    /// silence plus two of its intervals.
    case stale = "STALE"
    /// Another program uses this program's client id, or the broker rejects the trackable's name as invalid. This state
    /// never changes again.
    case failed = "FAILED"
}

/// The presence of a trackable's publisher, the time at which its last message arrived, and its text about the
/// trackable.
public struct PublisherPresence: Hashable, Sendable {
    /// The presence of a trackable's publisher, as far as the subscriber knows.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// The subscriber is connected, and a publisher of the trackable is present.
        case present = "PRESENT"
        /// The subscriber is connected, and no publisher of the trackable is present.
        case absent = "ABSENT"
        /// The presence is unknown, because this program is not connected or may not read the trackable.
        case unknown = "UNKNOWN"
    }

    /// The presence of the trackable's publisher, as this subscriber knows it: present, absent or unknown.
    public var status: Status
    /// The time at which the last live position, presence or heartbeat of the publisher arrived, by the wall clock of
    /// this subscriber's computer. The broker's retained copies do not count. `nil` if none arrived.
    public var lastSeen: UnixTime?
    /// The publisher's text about the trackable, at most 1,024 bytes; `nil` for none, and without a publisher.
    public var metadata: String?

    /// Creates the presence of a trackable's publisher from its status, the time at which its last message arrived, and
    /// its text about the trackable.
    public init(status: Status, lastSeen: UnixTime?, metadata: String? = nil) {
        self.status = status
        self.lastSeen = lastSeen
        self.metadata = metadata
    }
}

/// A location update that a subscriber received, as it delivers it to the program.
public struct ReceivedUpdate: Hashable, Sendable {
    /// The location update as the publisher published it. Its own list of skipped points may contain points that were
    /// delivered before.
    public var update: LocationUpdate
    /// The skipped points: earlier points that the publisher did not publish in updates of their own and sent with this
    /// update. Points that were delivered before are left out. The oldest point is first.
    public var skipped: [Location]
    /// `true` if a newer position of the trackable was delivered before this one. A late position belongs to the
    /// history and is never the current position.
    public var isLate: Bool
    /// `true` if the update is the retained message that the broker sent after a subscription. Its position may be old.
    public var isRetained: Bool

    /// Creates the received update from the update that was published, the skipped points that came with it, and its
    /// properties: late or not, retained or not.
    public init(update: LocationUpdate, skipped: [Location], isLate: Bool, isRetained: Bool) {
        self.update = update
        self.skipped = skipped
        self.isLate = isLate
        self.isRetained = isRetained
    }

    /// The latitude and longitude of the update's own position, not of its skipped points.
    public var coordinate: Coordinate { self.update.location.coordinate }
}

/// An event that a subscriber delivers to the program that uses it.
public enum SubscriberEvent: Hashable, Sendable {
    /// A position of the trackable arrived that was not delivered before.
    case location(TrackableID, ReceivedUpdate)
    /// A new position of the trackable arrived from its publisher, and the program prefers enhanced positions of this
    /// trackable (``PositionKind/enhanced``). Delivered at once, for each position of the publisher. The event
    /// ``location(_:_:)`` has the preferred positions.
    case publishedLocation(TrackableID, ReceivedUpdate)
    /// The position that the broker retained for the trackable was cleared, for example by `godwit erase`. A program
    /// that stores positions must delete those of the trackable. The clearing is delivered once, until another position
    /// arrives.
    case locationCleared(TrackableID)
    /// The complete set of trackables that have a position: the broker retains one, or one has arrived since the
    /// connection was made. Trackables that this program may not read are included. Delivered once for each connection,
    /// usually 2 to 30 s after the broker has answered the subscriptions.
    ///
    /// The position of any trackable outside of the set was cleared while this program was not connected, or the broker
    /// lost it. If the last delivered position of such a trackable arrives again later, that position is delivered
    /// again.
    case positionsKept(Set<TrackableID>)
    /// A raw position of the trackable arrived, as the receiver measured it. Delivered only if the configuration's
    /// ``SubscriberConfiguration/wantsRaw`` is `true`.
    case raw(TrackableID, ReceivedUpdate)
    /// The subscriber's state for a trackable changed. The error is the reason; it is `nil` if there is no particular
    /// reason.
    case state(TrackableID, SubscriberState, TrackingError?)
    /// The presence of the trackable's publisher changed to present, absent or unknown, or its text about the trackable
    /// changed.
    case presence(TrackableID, PublisherPresence)
    /// The broker rejects the subscription to a trackable, or to all trackables (`nil`), with this reason. The
    /// subscriber tries again after waits of up to 15 minutes. The event is delivered once for a rejection that lasts,
    /// and again after a new connection.
    case refused(TrackableID?, TrackingError)
    /// The broker rejects the subscription to the enhanced positions of a trackable, or of all trackables (`nil`), with
    /// this reason. The positions that publishers publish are delivered instead. The event is delivered once for each
    /// trackable.
    case enhancedRefused(TrackableID?, TrackingError)
    /// The broker rejects a message in which the subscriber announces its presence or requests a resolution, on this
    /// topic. Publishers then do not count the subscriber, or ignore its request. Positions are delivered all the same.
    /// The event is delivered once for each topic and connection.
    case publishRefused(topic: String, TrackingError)
    /// The resolution in force of the trackable changed: the accuracy and interval with which the publisher publishes.
    /// `nil` while no publisher is present.
    case resolution(TrackableID, ResolutionInForce?)
    /// A newer version of the trackable's current or last trip. Each version is delivered once, and the version that
    /// the broker retains comes first. `nil` when the trip was cleared.
    case trip(TrackableID, Trip?)
    /// A trip that ended, received in a batch of records (``SubscriberConfiguration/wantsRecorded``). It belongs to the
    /// history and is never the current trip. It is not delivered if ``trip(_:_:)`` already delivered the same end.
    case tripRecorded(TrackableID, Trip)
    /// A tracking event of the trackable, such as a low battery. Each event is delivered once.
    case event(TrackableID, TrackingEvent)
    /// The journey of the trackable, the stops that it is going to visit: the retained one, or a new one that replaces
    /// it. `nil` when the journey was cleared, also while this program was not connected. A journey can be delivered
    /// again without a change, after a new connection (``SubscriberConfiguration/wantsJourneys``).
    case journey(TrackableID, Journey?)
    /// The estimated arrival times at the stops of the trackable's journey. `nil` when they were cleared. As
    /// ``journey(_:_:)``, they can be delivered again after a new connection.
    case estimate(TrackableID, Estimate?)
    /// No message about a trackable that the program watches by its id has arrived for
    /// ``SubscriberConfiguration/silentAfter``. Delivered once.
    ///
    /// Either no program has published the trackable yet, or this user may not read it. Mosquitto grants a forbidden
    /// subscription and then sends nothing.
    case silent(TrackableID)
    /// An invalid message on this topic was skipped. The error contains the reason.
    case badMessage(topic: String, TrackingError)
    /// The connection to the broker was made (`nil`), or it was lost or could not be made (with the details).
    case connection(Disconnection?)
}
