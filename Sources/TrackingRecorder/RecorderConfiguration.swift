public import TrackingCore

/// The settings of a recorder, which do not change while it runs.
public struct RecorderConfiguration: MemberConfiguration, Hashable {
    /// The recorder's name. Devices wait for acknowledgements under this name, and it is the client id of the
    /// connection that publishes them.
    public var client: ClientID
    /// The identifier of this run of the recorder's program.
    public var session: SessionID
    /// The topic prefix below which all tracking topics are.
    public var topicRoot = TopicRoot.standard
    /// The group of recorders that share the broker's messages and acknowledge under the group's name; `nil` for a
    /// recorder that is in no group.
    public var group: RecorderGroup?
    /// The lease of the recorder: other clients count it as alive for this time after each of its heartbeats. Whole
    /// seconds, 1…86,400.
    public var lease: Duration = .seconds(90)
    /// The largest number of received messages that the recorder stores together, 1…65,535. The recorder stores fewer
    /// messages when ``longestWait``, ``pageRecords`` or ``pageBytes`` is reached first.
    public var window = RecorderConfiguration.largestPage
    /// The retention time: points, trips and events older than this time are removed from the history; `nil` keeps them
    /// forever.
    public var keep: Duration?
    /// The retention times of single trackables, which apply in place of ``keep``.
    public var keepOf: [TrackableID: Duration] = [:]
    /// The time from the end of a client's lease to the clearing of the client's retained messages by this recorder,
    /// which needs the broker's permission for that; `nil` for never.
    public var clearsAfter: Duration?
    /// `true` if the history is new. A missing session at the broker is then not reported as a possible gap.
    public var isFirstRun = false

    /// The default value of ``window``: 500 messages.
    public static let largestPage = 500
    /// The number of messages that the broker may send without an acknowledgement, unless the program chooses another
    /// one: 65,535. A smaller number can lose retained messages, because the broker queues what is beyond it. The
    /// memory of the recorder is bounded by the limits of a page and of its connection.
    public static let receiveMaximum = 65_535
    /// The number of records in received messages from which on the recorder stores these messages, even if there are
    /// fewer than ``window``. Records that a device declares gone count as well.
    public static let pageRecords = 10_000
    /// The number of payload bytes in received messages from which on the recorder stores these messages, even if there
    /// are fewer than ``window``.
    public static let pageBytes = 1_000_000
    /// The longest time that a received message waits for further messages before the recorder stores them together.
    /// While a write is under way or has failed, messages wait longer.
    public static let longestWait = Duration.milliseconds(50)
    /// The delay of acknowledgements that no device waits for (those of live positions), so that several are published
    /// together.
    public static let acknowledgementPause = Duration.seconds(5)
    /// The value of ``clearsAfter`` that the protocol recommends: 7 days. A client that comes back earlier finds its
    /// retained messages unchanged.
    public static let housekeeping = Duration.seconds(7 * 86_400)
    /// The wait before the first retry after a failure of the history store. The wait doubles with each further
    /// failure, up to ``longestStoreWait``.
    public static let firstStoreWait = Duration.milliseconds(250)
    /// The longest wait between two attempts to write to a history store that fails.
    public static let longestStoreWait = Duration.seconds(30)
    /// The time after which the recorder reports a history store that has not answered a write: 12 s. It is longer than
    /// the time for which a store itself waits for a lock, which is 5 s with SQLite and 10 s with PostgreSQL.
    public static let longestCommit = Duration.seconds(12)
    /// The number of times that the store may reject a batch before the recorder splits the batch to find the rejected
    /// record.
    public static let triesBeforeBlame = 3
    /// The longest time that an orderly stop of the recorder waits for the history store.
    public static let stopLimit = Duration.seconds(5)

    /// Creates a configuration with the default value of each setting.
    ///
    /// - Parameters:
    ///   - client: The recorder's name.
    ///   - session: The identifier of this run of the program.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }

    /// The name under which the recorder acknowledges records: the name of its group, or the recorder's own name
    /// without a group.
    public var acknowledgesAs: ClientID { self.group?.name ?? self.client }

    /// The topic filters of the connection that receives messages, in the order in which the recorder subscribes to
    /// them. The filter of the positions is among the first.
    static let filters: [TopicFilter] = [
        .everyHistory, .everyEvent, .everyLocation, .everyTrip, .everyPublisher, .everySubscriber, .everyResolution,
    ]
}

/// An event that a recorder delivers to its program: for example, a connection was made or lost, or the history store
/// failed.
public enum RecorderEvent: Hashable, Sendable {
    /// The connection that receives messages was made. Without a kept session (`false`), messages that were published
    /// while the recorder was not connected may be missing.
    case connected(sessionPresent: Bool)
    /// The connection that receives messages was lost or could not be made.
    case disconnected(Disconnection)
    /// The connection that publishes acknowledgements was made (`nil`), or was lost or could not be made (the details).
    case voice(Disconnection?)
    /// The broker rejects a subscription of the recorder: messages on topics of this filter are not recorded.
    case subscriptionRefused(filter: String, TrackingError)
    /// The broker rejected an acknowledgement of the recorder, that of this trackable. Only the first rejection on each
    /// connection is delivered.
    case acknowledgementRefused(TrackableID, TrackingError)
    /// The recorder's test succeeded: the broker delivers the messages of a shared subscription, as a group of
    /// recorders uses it. Delivered once for each connection on which the test succeeds.
    case shareDelivered
    /// The broker granted the shared subscription of the recorder's group, but delivers no messages of it. If `isAlone`
    /// is `true`, no other recorder of the group is known, and the recorder makes an ordinary subscription instead.
    case shareUndelivered(isAlone: Bool)
    /// The recorder cleared this number of retained messages of clients that vanished.
    case cleared(Int)
    /// The broker does not allow the recorder to receive or to clear the retained messages of vanished clients.
    /// Delivered at most once for each connection.
    case clearingRefused(TrackingError)
    /// The broker has kept no session for the recorder: messages that were published while the recorder was not
    /// connected are missing from the history, unless the devices send them again.
    case possibleGap
    /// The broker reported that it dropped this number of messages since its last report, for any of its clients. A
    /// broker drops messages when a client's queue is full.
    case brokerDropped(Int)
    /// The history store failed, or has not answered. After a failure the recorder tries again after the wait `retry`;
    /// `nil` while the answer is only late.
    case storeAway(TrackingError, retry: Duration?)
    /// The history store permanently rejects a record of a batch. The recorder searches for the record and quarantines
    /// it.
    case storeRefuses(TrackingError)
    /// The history store works again. `after` is the time since the recorder first tried to store the batch.
    case storeBack(after: Duration)
    /// The recorder stops because of this error, from which it cannot recover.
    case failed(TrackingError)
}
