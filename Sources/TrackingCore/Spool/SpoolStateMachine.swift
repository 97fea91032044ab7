/// Decides, for one trackable, what of its log goes next on the recording lane, in which batch, and what an answer means.
///
/// It knows the numbers of the records, not their contents: its size depends on gaps and on the batches that wait for an
/// acknowledgement, of which it remembers a limited number, not on the length of the queue. One batch is in flight at a time;
/// older streams drain before younger ones. Touches no disk, no connection, no clock.
public struct SpoolStateMachine: Sendable {
    /// What the user chooses.
    public struct Configuration: Hashable, Sendable {
        /// The most records in a batch; when so many wait they go at once. Beyond 1…10,000 the nearest of these counts.
        public var batchSize = 200 {
            didSet { self.batchSize = max(1, min(10_000, self.batchSize)) }
        }
        /// How long less than a batch waits for company; less than none is none, and `nil` never sends by itself.
        public var batchWindow: Duration? = .seconds(20) {
            didSet { self.batchWindow = self.batchWindow.map { max(.zero, $0) } }
        }
        /// The most bytes of records in a batch.
        public var batchBytes = 112_000
        /// Who must acknowledge a record before it may leave the device; empty: the broker's word is enough.
        public var recorders: Set<ClientID> = []
        /// The recorder that must acknowledge a record where ``recorders`` is empty.
        public var unnamedRecorder = UnnamedRecorder.none
        /// The time that a record that the broker took waits for the recorders before it is sent again. While the recorders that
        /// lack it are silent, the first batch alone is sent, after waits that double up to an hour, and newer records wait.
        public var acknowledgementWait: Duration = .seconds(30)
        /// The longest wait before a refused batch is tried again.
        public var longestWait: Duration = .seconds(60)

        /// Makes a configuration with the defaults above.
        public init() {}

        /// A Boolean value that indicates whether a record stays in the log until a recorder has acknowledged it.
        package var needsRecorder: Bool { !self.recorders.isEmpty || self.unnamedRecorder != .none }

        /// A Boolean value that indicates whether the recorder may be started later than this program.
        package var expectsLaterRecorder: Bool { self.recorders.isEmpty && self.unnamedRecorder == .startedLater }
    }

    /// The recorder that must acknowledge the records of a publisher that names none.
    public enum UnnamedRecorder: Hashable, Sendable {
        /// No recorder: the broker's acknowledgement is enough.
        case none
        /// Any recorder, which is expected to run.
        case running
        /// Any recorder, which may be started later. The records of an earlier run are not sent again before a recorder answers,
        /// apart from one batch that asks for an answer.
        case startedLater
    }

    /// What is to be done.
    public enum Action: Hashable, Sendable {
        /// Read these records, and tell ``loaded(_:missing:by:now:)`` or ``readFailed(_:now:)``.
        case read(RecordQuery)
        /// Publish this on `history`, and tell what came of it.
        case publish(HistoryBatch)
        /// These records are safe: they may leave the disk.
        case remove(StreamID, SeqSet)
        /// The broker acknowledged these records, which stay in the log for a recorder that may be started later.
        case taken(StreamID, SeqSet)
        /// This record is refused for good: set it aside, with the reason, and tell ``setAside(_:of:now:)`` or
        /// ``setAsideFailed(_:of:now:)``.
        case quarantine(StreamID, UInt64, TrackingError)
        /// The log was put back to an earlier state, and gave out numbers of the stream `after` for the second time: say so, and write
        /// this stream from now on.
        case begin(StreamID, after: StreamID)
        /// The numbers of these were given out twice: record them anew in the stream that is written.
        case renumber(StreamID, SeqSet)
        /// Nothing of this stream is left, and everybody was told: forget it.
        case forget(StreamID)
        /// Tell everyone, once an outage: so many records were dropped unsent, to keep to the limits.
        case tellDropped(Int)
        /// Tell the operator, once until a batch is taken again: batches are not taken, and why.
        case tellRefused(TrackingError)
    }

    /// Where the next batch stands.
    enum Phase: Hashable, Sendable {
        /// Nothing is on its way. Can transition to: `inFlight`, `waiting`.
        case idle
        /// The broker has it, or an empty one that tells whether the topic is allowed. Can transition to: `idle`, `waiting`.
        case inFlight(isProbe: Bool)
        /// A record that was refused for good is being set aside. Nothing goes before that is done, for the next batch declares it
        /// gone. Can transition to: `idle`, `waiting`.
        case settingAside
        /// It was refused or lost and goes again, the same. Can transition to: `inFlight`.
        case waiting(until: MonotonicTime)
    }

    /// A batch as it was first sent.
    struct Attempt: Hashable, Sendable {
        var id: String
        var stream: StreamID
        var records: SpoolRecords
        let seqs: SeqSet
        /// How often the connection ended on it, running.
        var disconnections = 0

        init(id: String, stream: StreamID, records: SpoolRecords) {
            self.id = id
            self.stream = stream
            self.records = records
            self.seqs = records.seqs
        }
    }

    /// How far a loss of records has come to be told.
    enum Loss: Hashable, Sendable {
        /// None since the outage began. Can transition to: `untold`.
        case none
        /// To be told once there is a connection. Can transition to: `told`.
        case untold
        /// Told once. What telling it costs itself is told with the next. Can transition to: `none`, when the outage ends: the
        /// connection is lost anew, or nothing is left.
        case told
    }

    /// A record that was refused for good, and is not set aside yet.
    struct Refused: Hashable, Sendable {
        var name: RecordName
        var reason: TrackingError
    }

    /// A batch that ends the connection so often, running, is taken for refused (`protocol.md`, "A refusal may look like success").
    static let maximumDisconnections = 3
    /// The longest wait before recorders that say nothing are sent a batch again.
    static let longestSilence: Duration = .seconds(3600)
    /// The first wait for an acknowledgement after a reconnection, and after the first message of an unnamed recorder: the broker may
    /// have lost what it acknowledged before, records and acknowledgements alike.
    static let reopenedWait: Duration = .seconds(2)
    /// The most unnamed recorders whose acknowledgements count.
    static let maximumUnnamedRecorders = 16
    /// The most ranges of lost records declared in one batch.
    static let maximumGoneRanges = 200

    var configuration: Configuration
    /// How many batches are read while others are in flight, ≥ 1, half of them together: to hand them over takes as long for many
    /// as for one. Each takes memory.
    public var batchesAhead = 1
    var random: SplitMix64
    /// The number of the last query.
    var lastQuery: UInt64
    /// Oldest first; the last one is being written, unless it ended.
    var streams: [SpoolStream] = []
    var phase = Phase.idle
    /// What was read of the batches that come behind.
    var ahead: ReadAhead?
    var attempt: Attempt?
    var refused: Refused?
    /// How many records the next batch may have.
    var limit: SendLimit
    var lastWait: Duration?
    /// Whether records may be sent now: connected, present, not held back by the broker's rules.
    public internal(set) var isOpen = false
    /// Whether anything may have been sent: of what was given out since the log was opened, a recorder may have something.
    var maySpeak = false
    /// Whether the next batch is an empty one, that tells whether the broker forbids the topic or what a batch says.
    var isProbing = false
    /// Whether the broker took an empty batch on this connection.
    var isTopicAllowed = false
    /// How far each recorder has acknowledged.
    var acknowledged: [ClientID: [StreamID: UInt64]] = [:]
    /// The recorders that sent an acknowledgement since the start; retained messages do not count.
    var answeringRecorders: Set<ClientID> = []
    /// A Boolean value that indicates whether records were sent on an earlier connection.
    var wasOpened = false
    /// Whether one batch is asked for, whatever waits.
    var isOneBatchUrgent = false
    /// Whether sending is deferred: nothing goes by itself until ``released(through:now:)``.
    public internal(set) var isHeld = false
    /// Dropped and not told yet.
    var droppedUntold = 0
    /// This outage's loss.
    var loss = Loss.none
    /// Why the broker does not take batches; `nil` since it took one.
    public internal(set) var refusal: TrackingError?
    /// How many records were dropped to keep to the limits, since the start.
    public internal(set) var dropped = 0
    /// How many records were set aside, since the start.
    public internal(set) var quarantined = 0
    /// How many records the broker or the recorders took over for good, since the start.
    public internal(set) var done = 0

    /// Takes over what a log holds.
    ///
    /// - Parameters:
    ///   - streams: What is on disk, oldest first.
    ///   - current: The stream that is written from now on; one of `streams`, or a new one.
    ///   - seed: What batch ids and waits are drawn from.
    public init(
        configuration: Configuration, streams: [StoredStream], current: StreamID, seed: UInt64, now: MonotonicTime
    ) {
        self.configuration = configuration
        self.random = SplitMix64(seed: seed)
        // The answer to a query of an earlier life of this trackable is told apart.
        self.lastQuery = seed
        self.limit = SendLimit(maximum: configuration.batchSize)
        self.streams = streams.filter { $0.id != current }.map { SpoolStream($0, isEnded: true, now: now) }
        let own = streams.first { $0.id == current } ?? StoredStream(id: current)
        self.streams.append(SpoolStream(own, isEnded: false, now: now))
        guard configuration.expectsLaterRecorder else { return }
        for place in self.streams.indices {
            let stored = self.streams[place].stored
            self.streams[place].taken(stored, by: nil, now: now, wait: configuration.acknowledgementWait)
        }
    }

    /// When something is to happen by itself; `nil` when never.
    public var nextDeadline: MonotonicTime? {
        var deadlines = self.isOpen ? self.streams.compactMap(\.resendDeadline) : []
        switch self.phase {
        case .waiting(let until): if self.isOpen { deadlines.append(until) }
        case .idle:
            if self.isOpen, !self.isHeld, !self.isReading, let window = self.configuration.batchWindow {
                deadlines += self.sendableStreams.compactMap { stream in
                    stream.hasReady ? stream.waitingSince?.advanced(by: window) : nil
                }
            }
        case .inFlight, .settingAside: break
        }
        return deadlines.min()
    }

    /// How many records are on disk.
    public var queued: Int { self.streams.reduce(0) { $0 + $1.stored.count } }
    /// How many of them the broker has not taken, as far as is known.
    public var unsent: Int { self.streams.reduce(0) { $0 + $1.pending.count } }
    /// What is on disk, oldest stream first.
    public var contents: [StoredStream] {
        self.streams.map { StoredStream(id: $0.id, stored: $0.stored, last: $0.last) }
    }

    /// Whether a record is on disk.
    public func holds(_ name: RecordName) -> Bool {
        self.streams.first { $0.id == name.stream }?.stored.contains(name.seq) ?? false
    }

    /// A Boolean value that indicates whether the sender of a record still waits: for a recorder, or for the broker where the
    /// recorder may be started later.
    public func isAwaited(_ name: RecordName) -> Bool {
        guard self.configuration.expectsLaterRecorder else { return self.holds(name) }
        return self.streams.first { $0.id == name.stream }?.pending.contains(name.seq) ?? false
    }

    /// The time since which the oldest record waits for a recorder without progress; `nil` where none waits.
    public var unrecordedSince: MonotonicTime? { self.streams.compactMap(\.unrecordedSince).min() }

    /// The recorders that have not acknowledged all of these.
    public func recordersWithout(_ records: [StreamID: SeqSet]) -> [ClientID] {
        self.configuration.recorders.filter { recorder in
            records.contains { $1.last ?? 0 > self.acknowledged[recorder]?[$0] ?? 0 }
        }
    }

    /// How many records the batch that is on its way has; `nil` when none is, or when it is an empty one that asks.
    public var inFlight: Int? { self.phase == .inFlight(isProbe: false) ? self.attempt?.records.count : nil }

    /// Whether a batch is being made, is on its way, or waits to go again.
    public var isUnderWay: Bool { self.phase != .idle || self.attempt != nil || self.isReading }

    /// Whether something is still to be declared gone or ended, and nothing keeps that from being tried.
    public var owesDeclaration: Bool {
        if case .waiting = self.phase { return false }
        return self.streams.contains(where: \.needsDeclaration)
    }

    /// Whether nothing is under way and nothing that could go now waits.
    public var isQuiet: Bool {
        switch self.phase {
        case .idle: self.unsent == 0 && !self.isReading
        case .waiting: true
        case .inFlight, .settingAside: false
        }
    }
    /// Whether everything is safe and nothing is under way.
    public var isDrained: Bool { self.queued == 0 && self.phase == .idle && !self.isReading }

    /// A Boolean value that indicates whether the trackable may be left: everything is safe, or the broker has taken everything
    /// and no recorder answers.
    public var isFinished: Bool {
        guard self.configuration.expectsLaterRecorder, self.answeringRecorders.isEmpty else { return self.isDrained }
        return self.unsent == 0 && self.phase == .idle && !self.isReading
    }

    /// Whether records were asked for and did not come yet.
    var isReading: Bool { self.ahead?.isAsked == true }
}
