import TrackingCore

/// Finds the retained positions that did not arrive after a recorder's intake connection was made, so that the recorder
/// asks for them again. A broker drops retained messages when its queue for the recorder is full.
struct IntakePositions: Sendable {
    /// The trackables whose retained position did not arrive, and for which the recorder asks again.
    var gaps = RetainedGaps()
    /// The trackables of which a position arrived; `nil` while no retained positions are being collected.
    private var located: Set<TrackableID>?
    /// The trackables of which the recorder expects a retained position: those with a position in the history, and
    /// those of which another message arrived.
    private var expected: Set<TrackableID> = []

    /// The number of trackables of which a position arrived since the intake connection was made; 0 once the collection
    /// of retained positions has ended.
    var count: Int { self.located?.count ?? 0 }

    /// Begins to collect the retained positions, because the intake connection was made.
    mutating func connected() { (self.located, self.gaps) = ([], RetainedGaps()) }

    /// Ends the collection of retained positions, because the intake connection was lost. The missing positions are not
    /// determined.
    mutating func disconnected() { (self.located, self.gaps) = (nil, RetainedGaps()) }

    /// Adds trackables that have a position in the history, so that their retained positions are expected from the
    /// broker.
    ///
    /// - Parameter isComplete: `true` if all retained positions should have arrived. The missing ones are then
    ///   determined at once.
    mutating func expect(_ ids: [TrackableID], isComplete: Bool, now: MonotonicTime) {
        self.expected.formUnion(ids.prefix(RetainedGaps.limit))
        if isComplete { self.compare(now: now) }
    }

    /// Handles a message of the intake connection. A position counts as arrived. A publisher's presence, a resolution
    /// or a trip shows that its trackable should have a position.
    mutating func received(_ message: IncomingMessage, root: TopicRoot, now: MonotonicTime) {
        guard self.located != nil || !self.gaps.isEmpty, let topic = root.topic(message.topic) else { return }
        switch topic {
        case .location(let id):
            self.gaps.arrived(id, .position, now: now)
            if self.count < RetainedGaps.limit { self.located?.insert(id) }
        case .publisher(let id, _), .resolution(let id), .trip(let id):
            guard self.located?.contains(id) == false, !message.payload.isEmpty else { return }
            if self.expected.count < RetainedGaps.limit { self.expected.insert(id) }
        case .raw, .enhanced, .journey, .estimate, .history, .subscriber, .request, .event, .ack, .command, .answer,
            .liveness:
            break
        }
    }

    /// Ends the collection of the retained positions. The recorder then asks again for the expected positions that did
    /// not arrive.
    mutating func compare(now: MonotonicTime) {
        guard let located = self.located else { return }
        for id in self.expected.subtracting(located).sorted() { self.gaps.missing(id, .position, now: now) }
        self.expected = []
        self.located = nil
    }
}
