public import TrackingCore

/// A history with a queue for each sink: a server to which another program forwards the recorded points.
///
/// The database itself adds each new point to the queue of every sink, in the transaction that stores the point. A late
/// point is therefore forwarded like any other. A point remains in a queue until ``removeForwarded(_:)`` or
/// ``quarantineForwarded(_:because:)``, so that a forwarder that was killed continues with the points that no server has
/// acknowledged.
public protocol ForwardingStore: HistoryStore {
    /// Makes these names the sinks of the history. All stored points, in the order of their times, are added to the
    /// queue of a sink that the history does not know yet. Any other sink is forgotten together with its queue.
    ///
    /// Only one program forwards the points of a history. A program that calls this method takes the queues over from
    /// the earlier one, whose next ``nextForwarded(to:except:limit:)`` throws.
    ///
    /// - Throws: `storeFailed`, `storeBusy`.
    func beginForwarding(to sinks: [String]) async throws(TrackingError)

    /// Returns the next points in the queue of a sink. All of them belong to the trackable of the oldest point.
    ///
    /// - Parameters:
    ///   - sink: The name of the sink.
    ///   - numbers: The numbers of entries that are left out.
    ///   - limit: The largest number of points, ≥ 1.
    /// - Throws: `takenOver` if another program has called ``beginForwarding(to:)`` since; `storeFailed`.
    func nextForwarded(
        to sink: String, except numbers: [Int64], limit: Int
    ) async throws(TrackingError) -> ForwardPage

    /// Removes points from the queues of the sinks, because a server has acknowledged them.
    ///
    /// - Parameter numbers: The numbers of the points' entries in the queues.
    /// - Throws: `storeFailed`, `storeBusy`.
    func removeForwarded(_ numbers: [Int64]) async throws(TrackingError)

    /// Moves points from the queues of the sinks to the quarantine of the queues, because a server rejects their content
    /// for good. The points themselves remain in the history. An erased point leaves the quarantine too.
    ///
    /// - Parameters:
    ///   - numbers: The numbers of the points' entries in the queues. An entry that has left its queue is ignored.
    ///   - reason: The reason of the rejection.
    /// - Throws: `storeFailed`, `storeBusy`.
    func quarantineForwarded(_ numbers: [Int64], because reason: String) async throws(TrackingError)
}

extension ForwardingStore {
    /// Returns the next points in the queue of a sink, and leaves none out. See ``nextForwarded(to:except:limit:)``.
    public func nextForwarded(to sink: String, limit: Int) async throws(TrackingError) -> ForwardPage {
        try await self.nextForwarded(to: sink, except: [], limit: limit)
    }
}

extension TrackingError {
    /// The error of a program whose queues another forwarder has taken over.
    static let forwardingTakenOver = TrackingError(
        .takenOver,
        "cannot forward on: another 'godwit forward' of the same history was started later and took the queues over. Stop one of the two, or name all servers in one command"
    )
}

/// The next points in the queue of a sink, a server to which points are forwarded.
public struct ForwardPage: Hashable, Sendable {
    /// One entry in the queue of a sink.
    public struct Entry: Hashable, Sendable {
        /// The number of the entry. No other entry in any queue has the same number.
        public var number: Int64
        /// The point; `nil` if the point has a wrong clock, the place [0, 0] or no valid coordinates, so that it is not
        /// forwarded.
        public var location: Location?

        /// Makes an entry from its number and its point.
        public init(number: Int64, location: Location?) {
            self.number = number
            self.location = location
        }
    }

    /// The trackable of the points; `nil` for an empty queue.
    public var trackable: TrackableID?
    /// The entries of the page, in the order in which the points were stored.
    public var entries: [Entry]
    /// `true` if further points of the trackable follow in the queue.
    public var hasMore: Bool

    /// Makes a page of a queue.
    public init(trackable: TrackableID?, entries: [Entry], hasMore: Bool) {
        self.trackable = trackable
        self.entries = entries
        self.hasMore = hasMore
    }

    /// The page of an empty queue.
    static let empty = ForwardPage(trackable: nil, entries: [], hasMore: false)

    /// The number of entries at the front of a queue among which the points of one trackable are searched. It bounds
    /// the time of a reading while the queue has points of very many trackables.
    static let searchedEntries = 10_000
}
