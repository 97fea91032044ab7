/// Decides for one trackable which records of the log are sent next to the recorders, in which batches, and what the
/// answers mean.
///
/// The machine knows the numbers of the records, not their contents. Its size depends on the number of gaps and on a
/// limited number of unacknowledged batches, not on the length of the backlog. One batch is in flight at a time. Older
/// streams are sent before newer ones. The machine uses no disk, no connection and no clock.
public struct SpoolStateMachine: Sendable {
    /// The user's settings.
    public struct Configuration: Hashable, Sendable {
        /// The maximum number of records in a batch, limited to 1…10,000. As soon as so many records are pending, they
        /// are sent.
        public var batchSize = 200 {
            didSet { self.batchSize = max(1, min(10_000, self.batchSize)) }
        }
        /// The time for which an incomplete batch waits for more records; negative values count as zero. With `nil`,
        /// records are sent only on request.
        public var batchWindow: Duration? = .seconds(20) {
            didSet { self.batchWindow = self.batchWindow.map { max(.zero, $0) } }
        }
        /// The maximum number of payload bytes in a batch.
        public var batchBytes = 112_000
        /// The recorders that must acknowledge a record before it leaves the device. When empty, ``unnamedRecorder``
        /// decides.
        public var recorders: Set<ClientID> = []
        /// The kind of recorder that must acknowledge a record while ``recorders`` is empty.
        public var unnamedRecorder = UnnamedRecorder.none
        /// The time for which a record that the broker acknowledged waits for the recorders before it is sent again.
        /// While the recorders that lack it are silent, only the first batch is sent again, with a backoff up to an
        /// hour, and newer records wait.
        public var acknowledgementWait: Duration = .seconds(30)
        /// The maximum backoff before a rejected batch is sent again.
        public var longestWait: Duration = .seconds(60)

        /// Makes a configuration with the default values.
        public init() {}

        /// `true` when a record stays in the log until a recorder has acknowledged it.
        package var needsRecorder: Bool { !self.recorders.isEmpty || self.unnamedRecorder != .none }

        /// `true` when the recorder may be started later than this program.
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

    /// An action for the driver.
    public enum Action: Hashable, Sendable {
        /// Read these records, then call ``loaded(_:missing:by:now:)`` or ``readFailed(_:now:)``.
        case read(RecordQuery)
        /// Publish this batch on the topic `history`, then call ``answered(_:now:)``.
        case publish(HistoryBatch)
        /// Remove these records from the log: they are safe.
        case remove(StreamID, SeqSet)
        /// The broker acknowledged these records, which stay in the log for a recorder that may be started later.
        case taken(StreamID, SeqSet)
        /// Quarantine this record with the reason, then call ``setAside(_:of:now:)`` or ``setAsideFailed(_:of:now:)``.
        case quarantine(StreamID, UInt64, TrackingError)
        /// Announce a new stream and write to it from now on. The log was restored to an earlier state and assigned
        /// numbers of the stream `after` for the second time.
        case begin(StreamID, after: StreamID)
        /// Append these records again to the current stream: their numbers were assigned twice.
        case renumber(StreamID, SeqSet)
        /// Forget this stream: it has no records, and everything about it was declared.
        case forget(StreamID)
        /// Report as an event, once an outage, that so many unsent records were dropped to comply with the limits.
        case reportDropped(Int)
        /// Report to the operator that the broker rejects batches, with the reason. It happens once, until a batch is
        /// accepted.
        case reportRejection(TrackingError)
    }

    /// The state of the next batch.
    enum Phase: Hashable, Sendable {
        /// No batch is in flight. Can transition to: `inFlight`, `settingAside`, `waiting`.
        case idle
        /// The broker has the batch, or an empty batch that tests whether the topic is allowed. Can transition to:
        /// `idle`, `settingAside`, `waiting`.
        case inFlight(isProbe: Bool)
        /// A rejected record is being quarantined. No batch is sent before that is done, because the next batch
        /// declares the record gone. Can transition to: `idle`, `waiting`.
        case settingAside
        /// The batch was rejected or lost, and is sent again unchanged after a backoff. Can transition to: `idle`,
        /// `inFlight`.
        case waiting(until: MonotonicTime)
    }

    /// A batch as it was first sent.
    struct Attempt: Hashable, Sendable {
        var id: String
        var stream: StreamID
        var records: SpoolRecords
        let seqs: SeqSet
        /// The number of consecutive disconnections while the batch was in flight.
        var disconnections = 0

        init(id: String, stream: StreamID, records: SpoolRecords) {
            self.id = id
            self.stream = stream
            self.records = records
            self.seqs = records.seqs
        }
    }

    /// The queries for the records of the next batches.
    struct Reading: Sendable {
        /// The number of the last query.
        var lastQuery: UInt64
        /// The records that were read for the following batches.
        var ahead: ReadAhead?
    }

    /// The state of the connection to the broker.
    struct Connection: Hashable, Sendable {
        /// `true` while records may be sent.
        var isOpen = false
        /// `true` when records could be sent on an earlier connection.
        var wasOpened = false
        /// `true` when the machine may have sent records since the log was opened, so that a recorder may have them.
        var mayHavePublished = false
        /// `true` when the broker accepted an empty batch on this connection.
        var isTopicAllowed = false
    }

    /// The acknowledgements of the recorders.
    struct Recorders: Sendable {
        /// The numbers up to which each recorder has acknowledged each stream.
        var acknowledged: [ClientID: [StreamID: UInt64]] = [:]
        /// The recorders that sent an acknowledgement since the start. Retained messages do not count.
        var answering: Set<ClientID> = []
    }

    /// The broker's rejection of batches.
    struct Rejection: Sendable {
        /// The reason of the last rejection; `nil` after the broker accepted a batch.
        var reason: TrackingError?
        /// `true` when the next batch is an empty one that tests whether the broker rejects the topic or the content of a
        /// batch.
        var isProbing = false
        /// The rejected record that is being quarantined.
        var record: Refused?
        /// The number of records quarantined since the start.
        var quarantined = 0
    }

    /// A rejected record that is not quarantined yet.
    struct Refused: Hashable, Sendable {
        var name: RecordName
        var reason: TrackingError
    }

    /// The records that were dropped to comply with the limits of the log.
    struct Losses: Sendable {
        /// The progress of reporting the loss of an outage.
        enum Report: Hashable, Sendable {
            /// No loss since the outage began. Can transition to: `unreported`.
            case none
            /// A loss will be reported on the next connection. Can transition to: `reported`.
            case unreported
            /// The loss was reported. Records that are dropped because of the report itself are included in the next
            /// report. Can transition to: `none`, when the connection is lost again or the backlog is empty.
            case reported
        }

        /// The number of records dropped since the start.
        private(set) var dropped = 0
        /// The number of dropped records that are not reported yet.
        private var unreported = 0
        private var report = Report.none

        /// Counts records that the log dropped.
        mutating func drop(_ count: Int) {
            self.dropped += count
            self.unreported += count
            if count > 0, self.report == .none { self.report = .unreported }
        }

        /// Returns the number of records to report, once for each outage; `nil` when no report is due.
        mutating func takeReport() -> Int? {
            guard self.report == .unreported else { return nil }
            defer { self.unreported = 0 }
            self.report = .reported
            return self.unreported
        }

        /// Ends the outage: the next loss is reported again.
        mutating func outageEnded() { if self.report == .reported { self.report = .none } }
    }

    /// The number of consecutive disconnections after which a batch counts as rejected (`protocol.md`, "A refusal may
    /// look like success").
    static let maximumDisconnections = 3
    /// The maximum wait before a batch is sent again to silent recorders.
    static let longestSilence: Duration = .seconds(3600)
    /// The first wait for an acknowledgement after a reconnection, and after the first message of an unnamed recorder.
    /// The broker may have lost records and acknowledgements from before.
    static let reopenedWait: Duration = .seconds(2)
    /// The maximum number of unnamed recorders whose acknowledgements count.
    static let maximumUnnamedRecorders = 16
    /// The maximum number of ranges of lost records declared in one batch.
    static let maximumGoneRanges = 200

    var configuration: Configuration
    /// The number of batches that are read while others are in flight, ≥ 1; half of them are read together. More
    /// batches cost memory, but reading many takes little longer than reading one.
    public var batchesAhead = 1
    var random: SplitMix64
    /// The streams, oldest first. Records are appended to the last one, unless it has ended.
    var streams: [SpoolStream] = []
    var phase = Phase.idle
    var reading: Reading
    var attempt: Attempt?
    /// The limit on the number of records in the next batch.
    var limit: SendLimit
    /// The backoff before a rejected batch is sent again.
    var backoff: Backoff
    var connection = Connection()
    var recorders = Recorders()
    var rejection = Rejection()
    var losses = Losses()
    /// `true` when one batch was requested, whatever its size.
    var isOneBatchUrgent = false
    /// `true` while sending is deferred. Records are sent only on request until ``released(through:now:)``.
    public internal(set) var isHeld = false
    /// The number of records acknowledged for good since the start, by the broker or the recorders.
    public internal(set) var done = 0

    /// Makes a machine for an opened log.
    ///
    /// - Parameters:
    ///   - configuration: The user's settings.
    ///   - streams: The streams on disk, oldest first.
    ///   - current: The stream to append to: one of `streams`, or a new one.
    ///   - seed: The seed of the random generator for batch ids and jitter.
    ///   - now: The time on the monotonic clock.
    public init(
        configuration: Configuration, streams: [StoredStream], current: StreamID, seed: UInt64, now: MonotonicTime
    ) {
        self.configuration = configuration
        self.backoff = Backoff(first: .seconds(1), maximum: configuration.longestWait, jitter: 0.5)
        self.random = SplitMix64(seed: seed)
        // Results of queries from a previous machine of this trackable have other numbers.
        self.reading = Reading(lastQuery: seed)
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

    /// `true` while records may be sent: the publisher is connected and present, and no rule of the broker prevents it.
    public var isOpen: Bool { self.connection.isOpen }
    /// The reason why the broker rejects batches; `nil` after it accepted one.
    public var refusal: TrackingError? { self.rejection.reason }
    /// The number of records dropped since the start, to comply with the limits.
    public var dropped: Int { self.losses.dropped }
    /// The number of records quarantined since the start.
    public var quarantined: Int { self.rejection.quarantined }

    /// The time at which ``timerFired(now:)`` is due; `nil` for never.
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

    /// The number of records on disk.
    public var queued: Int { self.streams.reduce(0) { $0 + $1.stored.count } }
    /// The number of records on disk that the broker has not acknowledged, as far as is known.
    public var unsent: Int { self.streams.reduce(0) { $0 + $1.pending.count } }
    /// The streams on disk, oldest first.
    public var contents: [StoredStream] {
        self.streams.map { StoredStream(id: $0.id, stored: $0.stored, last: $0.last) }
    }

    /// Returns `true` when a record is on disk.
    public func holds(_ name: RecordName) -> Bool {
        self.streams.first { $0.id == name.stream }?.stored.contains(name.seq) ?? false
    }

    /// Returns `true` while the caller that appended a record should wait: for a recorder or, when the recorder may be
    /// started later, for the broker.
    public func isAwaited(_ name: RecordName) -> Bool {
        guard self.configuration.expectsLaterRecorder else { return self.holds(name) }
        return self.streams.first { $0.id == name.stream }?.pending.contains(name.seq) ?? false
    }

    /// The time since which the oldest record waits for a recorder without progress; `nil` when no record waits.
    public var unrecordedSince: MonotonicTime? { self.streams.compactMap(\.recorders.unrecordedSince).min() }

    /// Returns the named recorders that have not acknowledged all of these records.
    public func recordersWithout(_ records: [StreamID: SeqSet]) -> [ClientID] {
        self.configuration.recorders.filter { recorder in
            records.contains { $1.last ?? 0 > self.recorders.acknowledged[recorder]?[$0] ?? 0 }
        }
    }

    /// The number of records in the batch in flight; `nil` when no batch or only an empty one is in flight.
    public var inFlight: Int? { self.phase == .inFlight(isProbe: false) ? self.attempt?.records.count : nil }

    /// `true` while a batch is being prepared, is in flight, or waits to be repeated.
    public var isUnderWay: Bool { self.phase != .idle || self.attempt != nil || self.isReading }

    /// `true` while a declaration (gone records, end of a stream) is outstanding and can be sent.
    public var owesDeclaration: Bool {
        if case .waiting = self.phase { return false }
        return self.streams.contains(where: \.needsDeclaration)
    }

    /// `true` when nothing is in progress and no pending record could be sent now.
    public var isQuiet: Bool {
        switch self.phase {
        case .idle: self.unsent == 0 && !self.isReading
        case .waiting: true
        case .inFlight, .settingAside: false
        }
    }
    /// `true` when all records are safe and nothing is in progress.
    public var isDrained: Bool { self.queued == 0 && self.phase == .idle && !self.isReading }

    /// `true` when tracking may stop: all records are safe, or the broker has acknowledged all and no recorder answers.
    public var isFinished: Bool {
        guard self.configuration.expectsLaterRecorder, self.recorders.answering.isEmpty else { return self.isDrained }
        return self.unsent == 0 && self.phase == .idle && !self.isReading
    }

    /// `true` while a read query is pending.
    var isReading: Bool { self.reading.ahead?.isAsked == true }
}
