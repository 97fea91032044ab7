import Synchronization
public import TrackingCore
import TrackingRuntime

/// Access to the log: pending records, quarantined records, and sending on request.
///
/// These functions also work without a connection, except those that send. They wait until ``AssetPublisher/run()``
/// is called, and throw `stopped` after it has returned.
extension AssetPublisher {
    // MARK: - Sending

    /// Sends one batch of each trackable now, or joins a batch that is being sent, and returns when the broker
    /// acknowledged them.
    ///
    /// - Returns: The number of records in the batches; 0 when no record is pending.
    /// - Throws: `brokerUnreachable` after 10 s without a connection; the broker's reason after 20 s without an
    ///   acknowledgement; `stopped`, also when the wait is cancelled. The records are sent nevertheless as soon as
    ///   that is possible.
    public func sendNow() async throws(TrackingError) -> Int { try await self.records(.sendNow) }

    /// Sends all pending records now, including those just published, and returns when all of them are safe according
    /// to ``PublisherConfiguration/recording``. It does not wait for records that are added meanwhile, nor for
    /// records of trackables that are not tracked.
    ///
    /// - Parameter progress: Receives the number of safe records and the total, after each batch and every 10 s.
    /// - Returns: The number of records that were sent, without those that were dropped, purged or quarantined
    ///   meanwhile.
    /// - Throws: `brokerUnreachable` after 10 s without a connection; the reason after 70 s in which no record became
    ///   safe. The records are sent nevertheless as soon as that is possible.
    public func flush(
        _ progress: @Sendable (_ done: Int, _ total: Int) async -> Void
    ) async throws(TrackingError) -> Int {
        // A record that is being written cannot be sent yet.
        if !self.isOpeningLog { await self.publishedIsLogged() }
        // A slow caller gets only the newest progress. The answer is always the last reply.
        let (replies, reply) = AsyncStream.makeStream(of: Reply.self, bufferingPolicy: .bufferingNewest(2))
        self.request({ .asked(.flush, request: $0) }, { reply.yield($0) })
        for await reply in replies {
            switch reply {
            case .progressed(let done, let total): await progress(done, total)
            case .answered(let result): return try Self.records(result)
            }
        }
        throw TrackingError(.stopped, "the wait for the pending records was cancelled. They are sent nevertheless.")
    }

    // MARK: - Pending records

    /// Returns the pending records, in the order in which they were recorded.
    ///
    /// - Parameter limit: The largest number of records to return, ≥ 0.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`.
    public func waiting(limit: Int) async throws(TrackingError) -> [SpoolEntry] {
        try await self.log.inquire { (storage) throws(TrackingError) in
            try await storage.waiting(after: 0, through: .max, maximumCount: limit).map(\.entry)
        }
    }

    /// Passes the pending records to `each`, one after the other, in the order in which they were recorded. Records
    /// that are added after the call began are not included. The memory use does not depend on the number of records.
    ///
    /// - Parameter each: Receives a record. The next record follows when it returns.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`, or the error of `each`, which ends the export.
    public func exportWaiting(_ each: (SpoolEntry) async throws -> Void) async throws {
        let last = try await self.log.inquire { (storage) throws(TrackingError) in try await storage.summary().lastPlace
        }
        var place: Int64 = 0
        while true {
            let after = place
            let page = try await self.log.inquire { (storage) throws(TrackingError) in
                try await storage.waiting(after: after, through: last, maximumCount: Self.pageSize)
            }
            guard let end = page.last?.place else { return }
            for record in page { try await each(record.entry) }
            place = end
        }
    }

    /// Removes all pending records, including those of trackables that are not tracked. Recorders are informed that
    /// the records are gone. Records that are being sent may arrive nevertheless, and the newest position is still
    /// published on the live lane.
    ///
    /// - Returns: The number of removed records.
    /// - Throws: `stopped`.
    public func purge() async throws(TrackingError) -> Int {
        let count = try await self.records(.purge)
        // This question is answered after the removal.
        _ = try await self.log.inquire { (_) throws(TrackingError) in }
        return count
    }

    /// Returns figures about the log and about sending. ``LogFigures/failure`` is set when the log cannot be read.
    public func logFigures() async -> LogFigures {
        var figures = LogFigures()
        do throws(TrackingError) {
            if case .sending(let sending) = try await self.ask(.sending) { figures.sending = sending }
            let summary = try await self.log.inquire { (storage) throws(TrackingError) in try await storage.summary() }
            figures.trackables = summary.trackables
            figures.total = summary.total
            figures.dropped = summary.dropped
            figures.quarantined = summary.quarantined
        } catch {
            figures.failure = error
        }
        return figures
    }

    // MARK: - Quarantined records

    /// Returns the quarantined records, oldest first.
    ///
    /// - Parameter limit: The largest number of records to return, ≥ 0.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`.
    public func quarantined(limit: Int) async throws(TrackingError) -> [QuarantinedRecord] {
        try await self.log.inquire { (storage) throws(TrackingError) in
            try await storage.quarantined(after: 0, maximumCount: limit)
        }
    }

    /// Puts quarantined records back under new names, at the end of the current stream, and sends them at once on the
    /// recording lane. Their old numbers remain declared gone.
    ///
    /// - Parameter names: The records to put back; `nil` for all. Unknown names and unreadable records are skipped.
    /// - Returns: The number of records that were put back.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`. The remaining records stay quarantined.
    public func retryQuarantined(_ names: [RecordName]?) async throws(TrackingError) -> Int {
        let wanted = names.map { Set($0) }
        // A record that is quarantined again during this call is not put back twice.
        let end = try await self.log.inquire { (storage) throws(TrackingError) in try await storage.summary().lastPlace
        }
        var (count, last) = (0, Int64(0))
        while last < end {
            let after = last
            let page = try await self.log.inquire { (storage) throws(TrackingError) in
                try await storage.quarantined(after: after, maximumCount: Self.pageSize).filter { $0.place <= end }
            }
            guard let lowest = page.last?.place else { break }
            last = lowest
            let chosen = page.filter { wanted?.contains($0.entry.name) ?? true }
            for (id, rows) in Dictionary(grouping: chosen, by: \.entry.trackable) {
                count += try await self.records(.putBack(rows, of: id))
            }
        }
        return count
    }

    /// Deletes quarantined records.
    ///
    /// - Parameter names: The records to delete; `nil` for all.
    /// - Returns: The number of deleted records.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`.
    public func dropQuarantined(_ names: [RecordName]?) async throws(TrackingError) -> Int {
        try await self.log.inquire { (storage) throws(TrackingError) in
            try await storage.dropQuarantined(try await Self.places(of: names, in: storage))
        }
    }

    private static func places(
        of names: [RecordName]?, in storage: any SpoolStorage
    ) async throws(TrackingError) -> [Int64]? {
        guard let names else { return nil }
        let wanted = Set(names)
        var places: [Int64] = []
        var last: Int64 = 0
        while true {
            let page = try await storage.quarantined(after: last, maximumCount: Self.pageSize)
            guard let end = page.last?.place else { return places }
            places += page.filter { wanted.contains($0.entry.name) }.map(\.place)
            last = end
        }
    }

    // MARK: - Another trackable

    /// Tracks a trackable in place of all other trackables.
    ///
    /// - Parameters:
    ///   - trackable: The name and the settings of the trackable.
    ///   - unsent: The treatment of records of the other trackables that are not safe yet.
    ///   - progress: Receives the progress of sending these records, as in ``AssetPublisher/flush(_:)``.
    /// - Throws: `unsentPoints`, with the number of records, when such records exist and `unsent` does not permit
    ///   clearing them, or when sending them does not come to an end; otherwise the errors of
    ///   ``AssetPublisher/flush(_:)``. An error changes nothing.
    public func bind(
        _ trackable: Trackable, unsent: UnsentPoints, _ progress: @Sendable (_ done: Int, _ total: Int) async -> Void
    ) async throws(TrackingError) {
        var rounds = unsent == .send ? Self.bindRounds : 0
        while true {
            if rounds > 0 { _ = try await self.flush(progress) }
            do throws(TrackingError) {
                _ = try await self.ask(.bind(trackable, unsent: unsent))
                break
            } catch {
                rounds -= 1
                guard error.code == .unsentPoints, rounds > 0 else { throw error }
            }
        }
        self.shared.withLock { $0.active = trackable.id }
    }

    /// The number of rounds that send records which were added during the round before.
    private static var bindRounds: Int { 20 }

    /// The number of records that one query of the log loads into memory.
    private static var pageSize: Int { 100 }

    // MARK: - Limits

    /// Limits a log in memory to 100,000 records, because a memory log without limits would exhaust the memory.
    static func limits(_ wanted: SpoolLimits, _ spool: any SpoolStorage) -> SpoolLimits {
        guard spool is InMemorySpool, wanted == SpoolLimits() else { return wanted }
        return SpoolLimits(maximumCount: 100_000)
    }

    // MARK: - Asking

    private func records(_ request: PublisherStateMachine.LogRequest) async throws(TrackingError) -> Int {
        guard case .records(let count) = try await self.ask(request) else { return 0 }
        return count
    }

    private static func records(_ result: Result<Answer, TrackingError>) throws(TrackingError) -> Int {
        guard case .records(let count) = try result.get() else { return 0 }
        return count
    }

    private func ask(_ request: PublisherStateMachine.LogRequest) async throws(TrackingError) -> Answer {
        try await self.request { .asked(request, request: $0) }.get()
    }
}
