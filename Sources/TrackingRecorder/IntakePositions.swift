import TrackingCore

/// The retained positions that arrive after a recorder's intake connection was made, and the trackables that should
/// have one. A broker drops retained messages when its queue for the recorder is full.
struct IntakePositions: Sendable {
    /// The trackables whose position is asked for again.
    var gaps = RetainedGaps()
    /// The trackables of which a position arrived; `nil` while no retained positions are being collected.
    private var located: Set<TrackableID>?
    /// The trackables that should have a position: those of the history, and those of which another message arrived.
    private var expected: Set<TrackableID> = []

    /// The number of trackables of which a position arrived since the connection was made.
    var count: Int { self.located?.count ?? 0 }

    /// The intake connection was made: collects the retained positions.
    mutating func connected() { (self.located, self.gaps) = ([], RetainedGaps()) }

    /// The intake connection was lost.
    mutating func disconnected() { (self.located, self.gaps) = (nil, RetainedGaps()) }

    /// Adds trackables that have a position in the history.
    ///
    /// - Parameter isComplete: `true` if the retained positions have arrived already.
    mutating func expect(_ ids: [TrackableID], isComplete: Bool, now: MonotonicTime) {
        self.expected.formUnion(ids.prefix(RetainedGaps.limit))
        if isComplete { self.compare(now: now) }
    }

    /// A message arrived: notes the trackable as one with a position, or as one that should have one.
    mutating func received(_ message: IncomingMessage, root: TopicRoot, now: MonotonicTime) {
        guard self.located != nil || !self.gaps.isEmpty, let topic = root.topic(message.topic) else { return }
        switch topic {
        case .location(let id):
            self.gaps.arrived(id, .position, now: now)
            if self.count < RetainedGaps.limit { self.located?.insert(id) }
        case .publisher(let id, _), .resolution(let id), .trip(let id):
            guard self.located?.contains(id) == false, !message.payload.isEmpty else { return }
            if self.expected.count < RetainedGaps.limit { self.expected.insert(id) }
        case .raw, .history, .subscriber, .request, .event, .ack, .command, .answer, .liveness: break
        }
    }

    /// Ends the collection of the retained positions. Those that are missing are asked for.
    mutating func compare(now: MonotonicTime) {
        guard let located = self.located else { return }
        for id in self.expected.subtracting(located).sorted() { self.gaps.missing(id, .position, now: now) }
        self.expected = []
        self.located = nil
    }
}
