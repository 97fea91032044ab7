/// Decides for one trackable which records of the device's log are sent to the recorders next, in which batches, and
/// when they are sent again. It uses no disk, no connection and no clock.
///
/// Only one batch is in flight at a time. Older streams are sent before newer ones. The value stores ranges of record
/// numbers, and the records of the next batches only. Its memory therefore does not grow with the number of unsent
/// records.
public struct SpoolStateMachine: Sendable {
    /// The user's settings for sending the records of the log to the recorders.
    public struct Configuration: Hashable, Sendable {
        /// The maximum number of records in a batch, limited to 1…10,000. When that many records are unsent, they are
        /// sent at once, unless records are sent only on request.
        public var batchSize = 200 {
            didSet { self.batchSize = max(1, min(10_000, self.batchSize)) }
        }
        /// The time for which a batch that is not full waits for more records; a negative time counts as zero. With
        /// `nil`, records are sent only on request.
        public var batchWindow: Duration? = .seconds(20) {
            didSet { self.batchWindow = self.batchWindow.map { max(.zero, $0) } }
        }
        /// The maximum number of payload bytes in a batch. A batch of one record may be larger.
        public var batchBytes = 112_000
        /// The recorders that must all acknowledge a record before the record is removed from the device as safe. If
        /// the set is empty, ``unnamedRecorder`` decides.
        public var recorders: Set<ClientID> = []
        /// The rule that applies while ``recorders`` is empty: no recorder or any recorder must acknowledge a record.
        public var unnamedRecorder = UnnamedRecorder.none
        /// The time for which a record waits for the recorders' acknowledgement, after the broker acknowledged it. Then
        /// it is sent again. While no recorder answers at all, only the oldest batch is repeated, at growing intervals
        /// up to an hour. Newer records wait, unless the recorder may be started later.
        public var acknowledgementWait: Duration = .seconds(30)
        /// The longest wait before sending is tried again after a failure, for example before a batch that the broker
        /// rejected is sent again.
        public var longestWait: Duration = .seconds(60)

        /// Makes the default settings for sending the records of a log.
        public init() {}

        /// `true` when a record counts as safe, and is removed from the log, only after recorders have acknowledged it:
        /// all of ``recorders``, or any one if that set is empty. `false` when the broker's acknowledgement is enough.
        /// The limits of the log apply in both cases.
        package var needsRecorder: Bool { !self.recorders.isEmpty || self.unnamedRecorder != .none }

        /// `true` when any recorder may acknowledge the records, and it may be started later than this publisher.
        package var expectsLaterRecorder: Bool { self.recorders.isEmpty && self.unnamedRecorder == .startedLater }
    }

    /// The rule for a publisher that names no recorders: the acknowledgement that a record needs before it is removed
    /// from the device.
    public enum UnnamedRecorder: Hashable, Sendable {
        /// No recorder has to acknowledge: the broker's acknowledgement is enough.
        case none
        /// Any one recorder must acknowledge. A recorder is expected to be running already.
        case running
        /// Any one recorder must acknowledge, but it may be started later than this program. After a restart of this
        /// program, records of the earlier run are sent again only once a recorder answers. Until then, only the oldest
        /// batch is sent again from time to time, to find out if a recorder runs.
        case startedLater
    }

    /// An action that the caller of the state machine must perform: on the device's log, at the broker, or as a report
    /// to the operator.
    public enum Action: Hashable, Sendable {
        /// Read these records from the log, then call ``loaded(_:missing:by:now:)`` or ``readFailed(_:now:)``.
        case read(RecordQuery)
        /// Publish this batch on the topic `history`. When the broker has answered, call ``answered(_:now:)``.
        case publish(HistoryBatch)
        /// Remove these records of a stream from the log, because they are safe: the required recorders have
        /// acknowledged them or, if no recorder is required, the broker has.
        case remove(StreamID, SeqSet)
        /// Let calls that wait for the safety of these records return, because the broker acknowledged the records. The
        /// records nevertheless remain in the log for a recorder that may be started later.
        case taken(StreamID, SeqSet)
        /// Quarantine this record, that is, set it aside in the log with the reason. Then call ``setAside(_:of:now:)``
        /// or ``setAsideFailed(_:of:now:)``.
        case quarantine(StreamID, UInt64, TrackingError)
        /// Begin this new stream, and append new records to it from now on. The reason is that the log was restored
        /// from an old copy and gave numbers of the stream `after` to records for the second time.
        case begin(StreamID, after: StreamID)
        /// Append these records to the current stream under new numbers, because their numbers were used twice.
        case renumber(StreamID, SeqSet)
        /// Remove this stream from the log. It has no records, and the recorders know its end and its lost records.
        case forget(StreamID)
        /// Publish an event with the number of records that were dropped because the log exceeded its limits.
        case reportDropped(Int)
        /// Report to the operator that the broker rejects batches for this reason.
        case reportRejection(TrackingError)
    }

    /// The phase of sending: nothing in flight, a batch in flight, a record being quarantined, or a wait before sending
    /// again.
    enum Phase: Hashable, Sendable {
        /// No batch is in flight, and no wait before a repetition is running. Can transition to: `inFlight`,
        /// `settingAside`, `waiting`.
        case idle
        /// A batch was published, and the broker has not answered. With `isProbe`, it is an empty batch that tests if
        /// the broker permits the topic. Can transition to: `idle`, `settingAside`, `waiting`.
        case inFlight(isProbe: Bool)
        /// A record that the broker rejected is being quarantined (set aside in the log). No batch is sent until that
        /// is done. Can transition to: `idle`, `waiting`.
        case settingAside
        /// Sending failed, for example because the broker rejected the batch or the log could not be read. After a wait
        /// until the time `until`, it is tried again. Can transition to: `idle`, `inFlight`.
        case waiting(until: MonotonicTime)
    }

    /// A batch that is in flight or waits to be sent again, with its id and its records. If it must be sent again, it
    /// is sent unchanged.
    struct Attempt: Hashable, Sendable {
        var id: String
        var stream: StreamID
        var records: SpoolRecords
        let seqs: SeqSet
        /// The number of connections in a row that were lost while this batch was in flight.
        var disconnections = 0

        init(id: String, stream: StreamID, records: SpoolRecords) {
            self.id = id
            self.stream = stream
            self.records = records
            self.seqs = records.seqs
        }
    }

    /// The state of reading records for the next batches from the log: the number of the last request, and the records
    /// that were read.
    struct Reading: Sendable {
        /// The number of the last ``RecordQuery``, a request to read records from the log. The next request gets the
        /// number after it.
        var lastQuery: UInt64
        /// The records that were read from the log for the next batches; `nil` when none were requested.
        var ahead: ReadAhead?
    }

    /// The state of the publisher's connection to the broker, as far as it matters for sending batches.
    struct Connection: Hashable, Sendable {
        /// `true` while batches may be sent over the connection: the publisher is connected and has announced its
        /// presence.
        var isOpen = false
        /// `true` once batches could be sent over a connection for the first time in this run of the program.
        var wasOpened = false
        /// `true` once the publisher may publish messages in this run of the program. Records that were appended since
        /// the log was opened may then have been published.
        var mayHavePublished = false
        /// `true` when the broker accepted an empty test batch on this connection, which proves that the broker permits
        /// the topic.
        var isTopicAllowed = false
    }

    /// The acknowledgements of the recorders: the acknowledged number of each stream, and the recorders that have
    /// answered.
    struct Recorders: Sendable {
        /// For each recorder and each stream, the number up to which the recorder has stored all records.
        var acknowledged: [ClientID: [StreamID: UInt64]] = [:]
        /// The recorders that sent an acknowledgement since this program was started. A retained acknowledgement, which
        /// may be old, does not count.
        var answering: Set<ClientID> = []
    }

    /// The handling of the broker's rejections of batches: the last reason, the test of the topic, and the record that
    /// is being quarantined.
    struct Rejection: Sendable {
        /// The reason for which the broker last rejected a batch. `nil` after the broker accepted a batch, or after the
        /// cause was found to be one record, which is to be quarantined.
        var reason: TrackingError?
        /// `true` when an empty test batch is to be sent next, because the broker rejected a batch. The broker's answer
        /// to it shows if the broker rejects every message on the topic, or only the content of that batch.
        var isProbing = false
        /// The record that the broker rejected and that is being quarantined; `nil` for none.
        var record: Refused?
        /// The number of records that were quarantined since the program was started.
        var quarantined = 0
    }

    /// A record that the broker rejected, with the reason. It is to be quarantined.
    struct Refused: Hashable, Sendable {
        var name: RecordName
        var reason: TrackingError
    }

    /// The numbers of records that were dropped because the log exceeded its limits, and the state of reporting them.
    struct Losses: Sendable {
        /// The state of reporting dropped records. A report is an event. In a full log, adding this event drops one
        /// more record. Therefore, dropped records are reported once for each outage (a time without a connection), and
        /// once more when all records are sent.
        enum Report: Hashable, Sendable {
            /// No record was dropped in the current reporting period. A period begins with the program, when the
            /// connection is lost after a report, and when all records are sent. Can transition to: `unreported`.
            case none
            /// Records were dropped in the current reporting period, and no report was made yet. Can transition to:
            /// `reported`.
            case unreported
            /// The dropped records were reported. Records dropped from now on are included in the next report. Can
            /// transition to: `none`, when the connection is lost again or all records are sent; `unreported`, when all
            /// records are sent and records were dropped since the report.
            case reported
        }

        /// The number of records that were dropped since the program was started, because the log exceeded its limits.
        private(set) var dropped = 0
        /// The number of dropped records that no report has included yet.
        private var unreported = 0
        private var report = Report.none

        /// Registers that the log dropped this number of records.
        mutating func drop(_ count: Int) {
            self.dropped += count
            self.unreported += count
            if count > 0, self.report == .none { self.report = .unreported }
        }

        /// Returns the number of dropped records to report now, and counts them as reported. Returns `nil` when no
        /// report is due.
        mutating func takeReport() -> Int? {
            guard self.report == .unreported else { return nil }
            defer { self.unreported = 0 }
            self.report = .reported
            return self.unreported
        }

        /// Begins a new reporting period, because the connection was lost: the next time that records are dropped,
        /// another report is due.
        mutating func outageBegan() { if self.report == .reported { self.report = .none } }

        /// Begins a new reporting period, because all records were sent. Records that were dropped since the last
        /// report are reported now.
        mutating func allSent() { self.report = self.unreported > 0 ? .unreported : .none }
    }

    /// The number of connections in a row that the broker ends while the same batch is unanswered: 3. The batch then
    /// counts as rejected, because some brokers reject a message by closing the connection. The publisher searches the
    /// batch for the rejected record, and quarantines it.
    static let maximumDisconnections = 3
    /// The longest wait before a batch is sent again to recorders that do not answer: one hour.
    static let longestSilence: Duration = .seconds(3600)
    /// The time for which records wait for a recorder's acknowledgement after a reconnection: 2 s. Then they are sent
    /// again, because the broker may have lost them. The time also applies after the first message of a recorder that
    /// the configuration does not name.
    static let reopenedWait: Duration = .seconds(2)
    /// The maximum number of recorders whose acknowledgements count while the configuration names none.
    static let maximumUnnamedRecorders = 16
    /// The maximum number of ranges of lost records that one batch can contain.
    static let maximumGoneRanges = 200

    var configuration: Configuration
    /// The number of batches, ≥ 1, whose records are read from the log in advance, while an earlier batch is in flight.
    /// A higher number needs more memory but makes reading faster.
    public var batchesAhead = 1
    var random: SplitMix64
    /// The streams of the trackable, oldest first. New records belong to the last one.
    var streams: [SpoolStream] = []
    var phase = Phase.idle
    var reading: Reading
    var attempt: Attempt?
    /// The maximum number of records in the next batch, which adapts to the broker's rejections.
    var limit: SendLimit
    /// The growing waits before sending is tried again after a failure, for example after a rejected batch.
    var backoff: Backoff
    var connection = Connection()
    var recorders = Recorders()
    var rejection = Rejection()
    var losses = Losses()
    /// `true` from the user's request to send one batch at once, even if it is not full, until that batch is made or no
    /// record is unsent. It stays `false` if a batch is in flight already, which fulfils the request.
    var isOneBatchUrgent = false
    /// `true` while automatic sending is stopped (``held()``). Records are then sent only on request.
    public internal(set) var isHeld = false
    /// The number of records that became safe since the program was started. A record is safe when the required
    /// recorders acknowledged it; without required recorders, when the broker did.
    public internal(set) var done = 0

    /// Makes the state machine that sends the records of one trackable, after the device's log was opened.
    ///
    /// - Parameters:
    ///   - configuration: The user's settings.
    ///   - streams: The streams of the trackable in the log, oldest first.
    ///   - current: The stream to append to: one of `streams`, or a new one.
    ///   - seed: The seed of the random numbers for batch ids and waits.
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

    /// `true` while batches may be sent: after ``opened(now:)`` and until ``closed(isOrderly:now:)``.
    public var isOpen: Bool { self.connection.isOpen }
    /// The reason for which the broker last rejected a batch. `nil` after the broker accepted a batch, or after the
    /// cause was found to be one record, which is to be quarantined.
    public var refusal: TrackingError? { self.rejection.reason }
    /// The number of the trackable's records that were dropped since the program was started, because the log exceeded
    /// its limits.
    public var dropped: Int { self.losses.dropped }
    /// The number of records that were quarantined (set aside as unacceptable) since the program was started.
    public var quarantined: Int { self.rejection.quarantined }

    /// The time at which the caller must call ``timerFired(now:)``; `nil` when the state machine waits for no time.
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

    /// The number of the trackable's records in the log.
    public var queued: Int { self.streams.reduce(0) { $0 + $1.stored.count } }
    /// The number of those records of the trackable in the log that still have to be sent to the broker. After a
    /// restart, all records count as unsent, or as acknowledged by the broker if the recorder may be started later.
    public var unsent: Int { self.streams.reduce(0) { $0 + $1.pending.count } }
    /// The trackable's streams in the log, oldest first.
    public var contents: [StoredStream] {
        self.streams.map { StoredStream(id: $0.id, stored: $0.stored, last: $0.last) }
    }

    /// Returns `true` when the record with this name is in the log, and is not quarantined.
    public func holds(_ name: RecordName) -> Bool {
        self.streams.first { $0.id == name.stream }?.stored.contains(name.seq) ?? false
    }

    /// Returns `true` while a caller that waits until the record with this name is safe must continue to wait. The wait
    /// ends when the record has left the log: as safe, dropped, deleted or quarantined. If the recorder may be started
    /// later than this program, the wait also ends when the broker has acknowledged the record.
    public func isAwaited(_ name: RecordName) -> Bool {
        guard self.configuration.expectsLaterRecorder else { return self.holds(name) }
        return self.streams.first { $0.id == name.stream }?.pending.contains(name.seq) ?? false
    }

    /// The time since which records have waited for the recorders without any new acknowledgement; `nil` when no record
    /// waits.
    public var unrecordedSince: MonotonicTime? { self.streams.compactMap(\.unrecordedSince).min() }

    /// Returns those recorders named in the configuration that have not acknowledged all of the given records.
    public func recordersWithout(_ records: [StreamID: SeqSet]) -> [ClientID] {
        self.configuration.recorders.filter { recorder in
            records.contains { $1.last ?? 0 > self.recorders.acknowledged[recorder]?[$0] ?? 0 }
        }
    }

    /// The number of records in the batch that the broker has not answered; `nil` when there is no such batch, or when
    /// it is an empty test batch.
    public var inFlight: Int? { self.phase == .inFlight(isProbe: false) ? self.attempt?.records.count : nil }

    /// `true` while a batch is being prepared, is unanswered, or waits to be sent again, or while a record is being
    /// quarantined.
    public var isUnderWay: Bool { self.phase != .idle || self.attempt != nil || self.isReading }

    /// `true` when the recorders must still be informed of lost records or of the end of a stream, and no wait before
    /// sending again is running.
    public var owesDeclaration: Bool {
        if case .waiting = self.phase { return false }
        return self.streams.contains(where: \.needsDeclaration)
    }

    /// `true` when the state machine sends nothing at the moment: it has no record to send and reads none, or a wait
    /// before sending again is running.
    public var isQuiet: Bool {
        switch self.phase {
        case .idle: self.unsent == 0 && !self.isReading
        case .waiting: true
        case .inFlight, .settingAside: false
        }
    }
    /// `true` when the log contains no records of the trackable, and no batch or read is in progress.
    public var isDrained: Bool { self.queued == 0 && self.phase == .idle && !self.isReading }

    /// `true` when sending is complete: no record is in the log any more, and no batch or read is in progress. If the
    /// configuration expects a recorder that is started later, and no recorder has answered so far, records may remain
    /// in the log: it is enough that the broker has acknowledged all of them.
    public var isFinished: Bool {
        guard self.configuration.expectsLaterRecorder, self.recorders.answering.isEmpty else { return self.isDrained }
        return self.unsent == 0 && self.phase == .idle && !self.isReading
    }

    /// `true` while a request to read records from the log is unanswered.
    var isReading: Bool { self.reading.ahead?.isAsked == true }
}
