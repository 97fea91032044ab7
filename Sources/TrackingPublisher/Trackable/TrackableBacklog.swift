import TrackingCore

/// The numbers of one trackable's records in the log, and the records that are not acknowledged yet.
struct TrackableBacklog: Sendable {
    /// The stream to which new records are appended: one life of the log, with numbers from 1.
    ///
    /// A log that was reopened after damage begins a new stream. So does a log that was restored from an older copy,
    /// because it would assign the same numbers twice.
    private(set) var stream: StreamID
    /// The last number that was assigned to a record of the current stream.
    private(set) var lastSeq: UInt64
    /// The highest number of the current stream up to which records are written to the log, or failed to be written.
    /// Later records are not published yet.
    private(set) var written: UInt64
    /// The state machine that sends the trackable's pending records to recorders, in batches.
    var spool: SpoolStateMachine
    /// The records that the broker acknowledged as live positions before it delivered this publisher's own presence
    /// message.
    ///
    /// They count as acknowledged only after that message arrives on this connection.
    private(set) var takenEarly = SeqSet()

    /// Makes the backlog of a trackable from its records in the log, and continues their stream.
    init(
        _ log: SpoolContents.Trackable, _ context: TrackableContext, using random: inout SplitMix64
    ) {
        let stream = log.current ?? .random(using: &random)
        self.stream = stream
        self.lastSeq = log.streams.first { $0.id == stream }?.last ?? 0
        self.written = self.lastSeq
        self.spool = SpoolStateMachine(
            configuration: context.configuration.recording, streams: log.streams, current: stream,
            seed: random.next(), now: context.now)
    }

    /// `true` if no record of the current stream is still being written: each one is in the log, or failed to be
    /// written.
    var isWritten: Bool { self.written == self.lastSeq }

    /// The name (stream and number) that the next new record gets.
    var nextName: RecordName { RecordName(stream: self.stream, seq: self.lastSeq + 1) }

    /// The number of records whose required acknowledgement has not arrived. All records that are still being written
    /// to the log count as one.
    var unsafeCount: Int { self.spool.queued + (self.isWritten ? 0 : 1) }

    /// `true` while a batch of records is on its way to the broker, or records wait for a batch.
    var isBusy: Bool { self.spool.isUnderWay || self.spool.unsent > 0 }

    /// The trackable's records in the log. The last number includes records that are still being written.
    var contents: SpoolContents.Trackable {
        var contents = SpoolContents.Trackable(streams: self.spool.contents, current: self.stream)
        contents.change(self.stream) { $0.last = max($0.last, self.lastSeq) }
        return contents
    }

    /// Returns `true` if an event or trip with this record name may be published: its record is in the log, failed to
    /// be written, or is of a stream before the current one.
    func mayPublish(_ stream: StreamID, _ seq: UInt64) -> Bool { seq <= self.written || stream != self.stream }

    /// Assigns the next number of the current stream to a new record, and returns the number.
    mutating func nextSeq() -> UInt64 {
        self.lastSeq += 1
        return self.lastSeq
    }

    /// Assigns the next `count` numbers of the stream, from ``nextName`` on.
    mutating func giveOut(_ count: Int) { self.lastSeq += UInt64(count) }

    /// Handles that records are written to the log, or failed to be written.
    ///
    /// - Returns: `false` for records of an earlier stream, which are ignored.
    mutating func wrote(_ seqs: SeqSet, of stream: StreamID) -> Bool {
        guard stream == self.stream, let last = seqs.last else { return false }
        self.written = max(self.written, last)
        return true
    }

    /// Makes another stream of the log the current one. The next record gets the number after `last`.
    mutating func begin(_ stream: StreamID, after last: UInt64) {
        self.stream = stream
        self.lastSeq = last
        self.written = last
        self.takenEarly = SeqSet()
    }

    /// Remembers records that the broker acknowledged before it delivered this publisher's own presence message.
    mutating func takenEarly(_ seqs: SeqSet) { self.takenEarly.formUnion(seqs) }

    /// Removes and returns the records that were acknowledged before this publisher received its own presence message
    /// from the broker.
    mutating func removeTakenEarly() -> SeqSet {
        defer { self.takenEarly = SeqSet() }
        return self.takenEarly
    }
}

extension SpoolContents.Trackable {
    /// Adds the numbers of records that were written to the log. If the trackable has no such stream yet, the stream is
    /// added and becomes the current one, to which new records are appended.
    mutating func appended(_ seqs: SeqSet, to stream: StreamID) {
        if !self.streams.contains(where: { $0.id == stream }) { self.begin(stream) }
        self.change(stream) { held in
            held.stored.formUnion(seqs)
            held.last = max(held.last, seqs.last ?? 0)
        }
    }

    /// Adds an empty stream and makes it the current one, to which new records are appended.
    mutating func begin(_ stream: StreamID) {
        self.streams.append(StoredStream(id: stream))
        self.current = stream
    }

    /// Assigns the next number of the current stream; returns `nil` if there is no stream.
    mutating func nextSeq() -> UInt64? {
        guard let place = self.streams.firstIndex(where: { $0.id == self.current }) else { return nil }
        self.streams[place].last += 1
        return self.streams[place].last
    }

    /// Applies `change` to one of the trackable's streams in the log. Does nothing if the stream is unknown.
    mutating func change(_ stream: StreamID, _ change: (inout StoredStream) -> Void) {
        guard let place = self.streams.firstIndex(where: { $0.id == stream }) else { return }
        change(&self.streams[place])
    }
}
