import TrackingCore

/// The numbering of one trackable's records, and the records that are not acknowledged yet.
struct TrackableBacklog: Sendable {
    /// The stream that is written. A log that is opened anew, or whose numbers were given out twice, begins another
    /// one.
    private(set) var stream: StreamID
    /// The last number that was given out in the stream.
    private(set) var lastSeq: UInt64
    /// The watermark of the log: records up to this number are on disk, or could not be written. Only these are
    /// published.
    private(set) var written: UInt64
    /// Decides about the batches of the recording lane.
    var spool: SpoolStateMachine
    /// The records that the broker acknowledged on the live lane before the own presence came back on this connection.
    private(set) var takenEarly = SeqSet()

    /// Makes the backlog of the records in the log, which goes on with their stream.
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

    /// `true` while everything that was captured is in the log, or could not be written.
    var isWritten: Bool { self.written == self.lastSeq }

    /// The name of the next record.
    var nextName: RecordName { RecordName(stream: self.stream, seq: self.lastSeq + 1) }

    /// The number of records that are not safe, a record that is being written included.
    var unsafeCount: Int { self.spool.queued + (self.isWritten ? 0 : 1) }

    /// `true` while a batch is under way, or records wait for one.
    var isBusy: Bool { self.spool.isUnderWay || self.spool.unsent > 0 }

    /// The contents of the log, with every number that was given out: some records may still be on their way to the
    /// disk.
    var contents: SpoolContents.Trackable {
        var contents = SpoolContents.Trackable(streams: self.spool.contents, current: self.stream)
        contents.change(self.stream) { $0.last = max($0.last, self.lastSeq) }
        return contents
    }

    /// Returns `true` where a record was written to the log before it may be published.
    func mayPublish(_ stream: StreamID, _ seq: UInt64) -> Bool { seq <= self.written || stream != self.stream }

    /// Gives out the next number.
    mutating func nextSeq() -> UInt64 {
        self.lastSeq += 1
        return self.lastSeq
    }

    /// Gives out the next numbers, from ``nextName`` on.
    mutating func giveOut(_ count: Int) { self.lastSeq += UInt64(count) }

    /// Records of `stream` are in the log, or could not be written.
    ///
    /// - Returns: `false` for records of an earlier stream.
    mutating func wrote(_ seqs: SeqSet, of stream: StreamID) -> Bool {
        guard stream == self.stream, let last = seqs.last else { return false }
        self.written = max(self.written, last)
        return true
    }

    /// Another stream is written from now on.
    mutating func begin(_ stream: StreamID, after last: UInt64) {
        self.stream = stream
        self.lastSeq = last
        self.written = last
        self.takenEarly = SeqSet()
    }

    /// The broker acknowledged records on the live lane, and the own presence has not come back yet.
    mutating func takenEarly(_ seqs: SeqSet) { self.takenEarly.formUnion(seqs) }

    /// Takes out the records that were acknowledged before the own presence came back.
    mutating func removeTakenEarly() -> SeqSet {
        defer { self.takenEarly = SeqSet() }
        return self.takenEarly
    }
}

extension SpoolContents.Trackable {
    /// Records are on disk. A stream that is not known begins with them.
    mutating func appended(_ seqs: SeqSet, to stream: StreamID) {
        if !self.streams.contains(where: { $0.id == stream }) { self.begin(stream) }
        self.change(stream) { held in
            held.stored.formUnion(seqs)
            held.last = max(held.last, seqs.last ?? 0)
        }
    }

    /// A new stream begins.
    mutating func begin(_ stream: StreamID) {
        self.streams.append(StoredStream(id: stream))
        self.current = stream
    }

    /// Gives out the next number of the current stream; `nil` where there is none.
    mutating func nextSeq() -> UInt64? {
        guard let place = self.streams.firstIndex(where: { $0.id == self.current }) else { return nil }
        self.streams[place].last += 1
        return self.streams[place].last
    }

    /// Changes one of the streams.
    mutating func change(_ stream: StreamID, _ change: (inout StoredStream) -> Void) {
        guard let place = self.streams.firstIndex(where: { $0.id == stream }) else { return }
        change(&self.streams[place])
    }
}
