import TrackingCore

/// A source of ingested records: the batches under way, and the newest times that were published.
struct RemoteSource: Sendable {
    typealias Output = TrackableStateMachine.Output

    /// The times of the newest records that were published.
    var watermarks: PublishedWatermarks
    /// The batches that were not answered yet.
    private(set) var intake = IntakeQueue()
    /// The moment until which the trackable is tracked without further records.
    var leaseEnd: MonotonicTime

    /// The wait between two looks whether the log of a trackable without new records is empty.
    static let drainPause = Duration.seconds(60)

    /// Makes a source of which no record arrived yet.
    init(watermarks: PublishedWatermarks, leaseEnd: MonotonicTime) {
        self.watermarks = watermarks
        self.leaseEnd = leaseEnd
    }

    /// Ingests a batch. Its sender is answered when all of it is safe, at `deadline` at the latest.
    mutating func ingest(_ batch: IntakeQueue.Batch, by deadline: MonotonicTime) -> [Output] {
        self.intake.arrived(batch, by: deadline)
        return self.lookUp()
    }

    private mutating func lookUp() -> [Output] { self.intake.begin().map { [.log(.find($0))] } ?? [] }

    /// Some records are known from before; the others are appended under names from `first` on. A record that is newer
    /// than the watermarks is published once it is written.
    ///
    /// - Parameters:
    ///   - first: The next name of the stream that is written.
    ///   - now: The time; a record from the future is no news.
    /// - Returns: The records to append, and the watermarks that go into the log with them.
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

    /// Records are in the log.
    ///
    /// - Returns: The records that are newer than everything published before, in order of time.
    mutating func written(_ seqs: SeqSet, now: UnixTime) -> [RecordDraft.Content] {
        self.intake.written(seqs).compactMap { news in
            self.watermarks.isNews(news.content, at: news.time, now: now) ? news.content : nil
        }
    }

    /// Ends the round when all of its records are written, and begins the next one.
    ///
    /// - Parameter isStored: Returns `true` for a record in the log that is not acknowledged.
    mutating func settle(isStored: (RecordName) -> Bool) -> [Output] {
        let receipts = self.intake.settle(isStored: isStored)
        return Self.answers(to: receipts) + self.lookUp()
    }

    /// Records were acknowledged.
    mutating func areSafe(_ seqs: SeqSet, of stream: StreamID) -> [Output] {
        Self.answers(to: self.intake.areSafe(seqs, of: stream))
    }

    /// The batches under way could not be looked up or written.
    mutating func failed(_ error: TrackingError) -> [Output] {
        let requests = self.intake.failed()
        return requests.map { .action(.answered(request: $0, .failure(error))) } + self.lookUp()
    }

    /// Senders have waited for as long as they are willing to.
    mutating func expired(_ obstacles: IntakeObstacles, now: MonotonicTime) -> [Output] {
        self.intake.takeExpired(now: now).map { request, wait in
            .action(.answered(request: request, .failure(obstacles.error(of: wait))))
        }
    }

    /// Answers every sender, because the trackable stops being tracked.
    func stopped(_ error: TrackingError) -> [Output] {
        self.intake.requests.map { .action(.answered(request: $0, .failure(error))) }
    }

    private static func answers(to receipts: [IntakeQueue.Receipt]) -> [Output] {
        receipts.map { .action(.answered(request: $0.request, .success(.taken($0.names)))) }
    }
}
