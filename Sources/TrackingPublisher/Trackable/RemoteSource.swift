import TrackingCore

/// The state of one trackable whose records another system supplies, for example over HTTP: the batches that are being
/// ingested, and the newest times that were published.
struct RemoteSource: Sendable {
    typealias Output = TrackableStateMachine.Output

    /// The time of the newest published record of the trackable, for each kind of record (point, event, trip).
    var watermarks: PublishedWatermarks
    /// The queue of ingested records, with the senders that still wait for an answer.
    private(set) var intake = IntakeQueue()
    /// The time until which the trackable remains tracked if the other system sends no further records.
    var leaseEnd: MonotonicTime

    /// The time after which the publisher checks again if all records of a trackable are safe, so that tracking can
    /// end.
    ///
    /// It is also the shortest time between two attempts to send the records of trackables that are not tracked.
    static let drainPause = Duration.seconds(60)

    /// Makes the state of a trackable whose records another system supplies from now on. No batch has arrived yet.
    init(watermarks: PublishedWatermarks, leaseEnd: MonotonicTime) {
        self.watermarks = watermarks
        self.leaseEnd = leaseEnd
    }

    /// Ingests a batch of records. Its sender is answered when all records of the batch are acknowledged, at `deadline`
    /// at the latest.
    mutating func ingest(_ batch: IntakeQueue.Batch, by deadline: MonotonicTime) -> [Output] {
        self.intake.arrived(batch, by: deadline)
        return self.lookUp()
    }

    private mutating func lookUp() -> [Output] { self.intake.begin().map { [.log(.find($0))] } ?? [] }

    /// Handles the log's answer to the search for ingested records by their marks (time and digest of the content).
    /// Records with a known mark are repetitions. The other records are appended to the log under consecutive names
    /// from `first` on. Of these, a plausible record that is not older than the newest published one of its kind (the
    /// watermark) is published after it is written. An event of the last week is published even if it is older.
    ///
    /// - Parameters:
    ///   - known: The names of the records that the log found, by mark.
    ///   - first: The next free name in the stream to which records are appended.
    ///   - now: The current time. A record from the future is not published.
    /// - Returns: The records to append, and the raised watermarks to write into the log together with them.
    mutating func found(
        _ known: [RecordMark: RecordName], from first: RecordName, now: UnixTime
    ) -> (appends: [Output], watermarks: PublishedWatermarks) {
        var watermarks = self.watermarks
        var names: [RecordMark: RecordName] = [:]
        var news: [IntakeQueue.News] = []
        var appends: [Output] = []
        for (index, draft) in self.intake.found(known).enumerated() {
            let name = RecordName(stream: first.stream, seq: first.seq + UInt64(index))
            let content = draft.content.named(name)
            names[draft.mark] = name
            if watermarks.isNews(content, at: draft.time, now: now) {
                news.append(IntakeQueue.News(seq: name.seq, time: draft.time, content: content))
            }
            let record = content.record(at: draft.time, seq: name.seq)
            appends.append(.log(.append(name.stream, record, mark: draft.mark)))
        }
        self.intake.named(names, news: news)
        return (appends, watermarks)
    }

    /// Handles that ingested records were written to the log.
    ///
    /// - Returns: The records to publish, in order of time: those that are not older than the newest published one of
    ///   their kind, and events of the last week.
    mutating func written(_ seqs: SeqSet, now: UnixTime) -> [RecordDraft.Content] {
        self.intake.written(seqs).compactMap { news in
            self.watermarks.isNews(news.content, at: news.time, now: now) ? news.content : nil
        }
    }

    /// Ends the present round of ingesting if all records of its batches are written to the log, and begins the next
    /// round.
    ///
    /// A round looks up and writes several batches together. Batches that arrive meanwhile are in the next round.
    ///
    /// - Parameter isStored: Returns `true` for a record in the log that its sender must still wait for.
    /// - Returns: The answers to senders whose records are all acknowledged, and the next look-up in the log.
    mutating func settle(isStored: (RecordName) -> Bool) -> [Output] {
        let receipts = self.intake.settle(isStored: isStored)
        return Self.answers(to: receipts) + self.lookUp()
    }

    /// Handles that ingested records became safe, that is, their required acknowledgement has arrived. Returns the
    /// answers to the senders whose batches are now safe as a whole.
    mutating func areSafe(_ seqs: SeqSet, of stream: StreamID) -> [Output] {
        Self.answers(to: self.intake.areSafe(seqs, of: stream))
    }

    /// Handles that the log could not be searched for the records of the present round, or could not write them. A
    /// round is a group of ingested batches that are looked up and written together. Answers the senders of these
    /// batches with the error, and begins the next round.
    mutating func failed(_ error: TrackingError) -> [Output] {
        let requests = self.intake.failed()
        return requests.map { .action(.answered(request: $0, .failure(error))) } + self.lookUp()
    }

    /// Answers the senders of ingested records whose deadline has passed, with an error. The error names the reason why
    /// their records are not safe yet.
    mutating func expired(_ obstacles: IntakeObstacles, now: MonotonicTime) -> [Output] {
        self.intake.takeExpired(now: now).map { request, wait in
            .action(.answered(request: request, .failure(obstacles.error(of: wait))))
        }
    }

    /// Answers every sender with an error, because tracking of the trackable stops.
    func stopped(_ error: TrackingError) -> [Output] {
        self.intake.requests.map { .action(.answered(request: $0, .failure(error))) }
    }

    private static func answers(to receipts: [IntakeQueue.Receipt]) -> [Output] {
        receipts.map { .action(.answered(request: $0.request, .success(.taken($0.names)))) }
    }
}
