public import TrackingCore

/// What a recorder is told once.
public struct RecorderConfiguration: MemberConfiguration, Hashable {
    /// The recorder's name: what devices wait for, and the client id of the connection that acknowledges.
    public var client: ClientID
    /// This run of the program.
    public var session: SessionID
    /// Where in the broker's tree the topics live.
    public var topicRoot = TopicRoot.standard
    /// The group of recorders that share the messages, and acknowledge under its name; `nil` for a recorder of its own.
    public var group: RecorderGroup?
    /// How long others believe a heartbeat; whole seconds, 1…86,400.
    public var lease: Duration = .seconds(90)
    /// So many messages are stored at once at the latest: what the broker has under way to us, 1…65,535.
    public var window = 500
    /// How long points, trips and events are kept; `nil` for ever.
    public var keep: Duration?
    /// How long those of single trackables are kept, in place of ``keep``.
    public var keepOf: [TrackableID: Duration] = [:]
    /// How long the lease of a client has been out before what stands of it at the broker is cleared, by a recorder that may do
    /// that; `nil` leaves it alone.
    public var clearsAfter: Duration?
    /// Whether nothing was ever recorded, so that nothing can have been missed.
    public var isFirstRun = false

    /// So many records are stored at once at the latest, whatever the messages; what is declared gone counts.
    public static let pageRecords = 10_000
    /// So many bytes of messages are stored at once at the latest.
    public static let pageBytes = 1_000_000
    /// What came is stored this long after the first of it at the latest.
    public static let longestWait = Duration.milliseconds(50)
    /// Acknowledgements that nobody waits for, those of live positions, are said together, so often.
    public static let acknowledgementPause = Duration.seconds(5)
    /// What the protocol gives a client to come back, before a housekeeper clears what stands of it.
    public static let housekeeping = Duration.seconds(7 * 86_400)
    /// The first wait after the store failed; the waits double.
    public static let firstStoreWait = Duration.milliseconds(250)
    /// What the waits grow to.
    public static let longestStoreWait = Duration.seconds(30)
    /// A store that has not answered for so long is away: longer than it waits for others by itself.
    public static let longestCommit = Duration.seconds(6)
    /// So often what the store refuses is tried as it is; then the record that is refused is looked for.
    public static let triesBeforeBlame = 3
    /// How long an orderly end may wait for the store.
    public static let stopLimit = Duration.seconds(5)

    /// Where Mosquitto says how many messages it has dropped.
    static let dropCount = "$SYS/broker/publish/messages/dropped"

    /// Makes a configuration with the defaults above.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }

    /// Under whose name is acknowledged.
    public var acknowledgesAs: ClientID { self.group?.name ?? self.client }

    /// What is subscribed to.
    var filters: [String] {
        let filters: [TopicFilter] = [
            .everyHistory, .everyLocation, .everyTrip, .everyEvent, .everyPublisher, .everySubscriber, .everyResolution,
        ]
        return filters.map { filter in
            let path = self.topicRoot.path(filter)
            return self.group?.shared(path) ?? path
        }
    }
}

/// What a recorder tells of itself.
public enum RecorderEvent: Hashable, Sendable {
    /// The connection that takes in was made; without a session, what came meanwhile may be missing.
    case connected(sessionPresent: Bool)
    /// The connection that takes in was lost or could not be made.
    case disconnected(Disconnection)
    /// The connection that acknowledges was made (`nil`), lost, or could not be made.
    case voice(Disconnection?)
    /// The broker refuses a subscription: nothing of it is recorded.
    case subscriptionRefused(filter: String, TrackingError)
    /// The broker refuses the acknowledgements of a trackable; told once a connection.
    case acknowledgementRefused(TrackableID, TrackingError)
    /// What clients that are gone left behind was cleared: so many messages.
    case cleared(Int)
    /// The broker refuses to tell, or to have cleared, what clients left behind; told once a connection.
    case clearingRefused(TrackingError)
    /// The broker kept no session: what came while this recorder was away is missing, where the devices do not send it again.
    case possibleGap
    /// The broker has dropped so many messages, for whomever, since it was looked at last: its queues are too short.
    case brokerDropped(Int)
    /// The store took nothing; it is tried again after this wait. `nil`: it has not answered yet.
    case storeAway(TrackingError, retry: Duration?)
    /// The store refuses a record, for good: it is looked for, and set aside.
    case storeRefuses(TrackingError)
    /// The store takes again, after so long.
    case storeBack(after: Duration)
    /// It cannot go on.
    case failed(TrackingError)
}
