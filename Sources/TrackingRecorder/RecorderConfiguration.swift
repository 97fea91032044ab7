public import TrackingCore

/// The settings of a recorder, which do not change while it runs.
public struct RecorderConfiguration: MemberConfiguration, Hashable {
    /// The recorder's name: devices wait for its acknowledgements, and it is the client id of the member connection.
    public var client: ClientID
    /// The run of the program.
    public var session: SessionID
    /// The root of the topics in the broker's tree.
    public var topicRoot = TopicRoot.standard
    /// The group of recorders that share the messages, and acknowledge under its name; `nil` for a recorder of its own.
    public var group: RecorderGroup?
    /// The time for which others believe a heartbeat: whole seconds, 1…86,400.
    public var lease: Duration = .seconds(90)
    /// The number of messages at which a page is stored at the latest, and the number that the broker may send without
    /// an acknowledgement: 1…65,535.
    public var window = 500
    /// The time after which points, trips and events are removed; `nil` for never.
    public var keep: Duration?
    /// The time for single trackables, in place of ``keep``.
    public var keepOf: [TrackableID: Duration] = [:]
    /// The time after the end of a client's lease at which its retained messages are cleared, by a recorder that has
    /// the right to do so; `nil` for never.
    public var clearsAfter: Duration?
    /// `true` if the history is new, so that no message can have been missed.
    public var isFirstRun = false

    /// The number of records at which a page is stored at the latest; records declared gone count.
    public static let pageRecords = 10_000
    /// The number of bytes of messages at which a page is stored at the latest.
    public static let pageBytes = 1_000_000
    /// The time after the first message of a page at which the page is stored at the latest.
    public static let longestWait = Duration.milliseconds(50)
    /// The interval at which acknowledgements that no device waits for (those of live positions) are published
    /// together.
    public static let acknowledgementPause = Duration.seconds(5)
    /// The value of ``clearsAfter`` that the protocol recommends: a client has as long to come back.
    public static let housekeeping = Duration.seconds(7 * 86_400)
    /// The first wait after the store failed; the waits double.
    public static let firstStoreWait = Duration.milliseconds(250)
    /// The longest wait after the store failed.
    public static let longestStoreWait = Duration.seconds(30)
    /// The time after which a store without an answer is reported: longer than the store itself waits for a lock.
    public static let longestCommit = Duration.seconds(6)
    /// The number of attempts with a refused batch before the refused record is searched for.
    public static let triesBeforeBlame = 3
    /// The longest time for which an orderly end waits for the store.
    public static let stopLimit = Duration.seconds(5)

    /// Makes a configuration with the defaults above.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }

    /// The name under which records are acknowledged: that of the group, or the recorder's own.
    public var acknowledgesAs: ClientID { self.group?.name ?? self.client }

    /// The filters of the intake connection.
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

/// An event that a recorder delivers to the program.
public enum RecorderEvent: Hashable, Sendable {
    /// The intake connection was made. Without a session, messages published meanwhile may be missing.
    case connected(sessionPresent: Bool)
    /// The intake connection was lost or could not be made.
    case disconnected(Disconnection)
    /// The member connection was made (`nil`), lost, or could not be made.
    case voice(Disconnection?)
    /// The broker refuses a subscription: its messages are not recorded.
    case subscriptionRefused(filter: String, TrackingError)
    /// The broker refuses the acknowledgements of a trackable; delivered once for each connection.
    case acknowledgementRefused(TrackableID, TrackingError)
    /// This number of retained messages of clients that are gone was cleared.
    case cleared(Int)
    /// The broker refuses to send or to clear the retained messages of clients; delivered once for each connection.
    case clearingRefused(TrackingError)
    /// The broker has kept no session: messages published while the recorder was away are missing, unless the devices
    /// send them again.
    case possibleGap
    /// The broker has dropped this number of messages, for any of its clients, since its last count: its queues are too
    /// short.
    case brokerDropped(Int)
    /// The store failed and is tried again after this wait; `nil` if it has not answered yet.
    case storeAway(TrackingError, retry: Duration?)
    /// The store refuses a record permanently; the record is searched for and quarantined.
    case storeRefuses(TrackingError)
    /// The store works again, after this time.
    case storeBack(after: Duration)
    /// The recorder cannot continue.
    case failed(TrackingError)
}
