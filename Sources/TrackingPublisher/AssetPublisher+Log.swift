import Synchronization
public import TrackingCore
import TrackingRuntime

/// The functions for the publisher's log, its durable store of records. Records are pending until they are
/// acknowledged. Records that can never be accepted are set aside as quarantined.
///
/// Functions that only read or change the log also work without a connection to the broker. All functions wait until
/// ``AssetPublisher/run()`` is called, and throw `stopped` after it has returned.
extension AssetPublisher {
    // MARK: - Sending

    /// Sends one batch of pending records of each trackable now, and returns when the broker has acknowledged the
    /// batches. A batch that is being sent already counts as the trackable's batch.
    ///
    /// - Returns: The number of records in the acknowledged batches; 0 when no record is pending.
    /// - Throws: `brokerUnreachable` after 10 s without a connection; after 20 s without an acknowledgement the
    ///   broker's reason, or `refused` if it gave none; `stopped`, also when the wait is cancelled. The records are
    ///   sent nevertheless as soon as that is possible.
    public func sendNow() async throws(TrackingError) -> Int { try await self.records(.sendNow) }

    /// Sends all pending records of the tracked trackables now, including those just published, and returns when all of
    /// them are safe. Safe means acknowledged by the broker and by the recorders of
    /// ``PublisherConfiguration/recording``. The call does not wait for records that are added meanwhile.
    ///
    /// - Parameter progress: Receives the number of safe records and the total, after each batch and every 10 s.
    /// - Returns: The number of records that were sent. Records that were dropped, purged or quarantined meanwhile do
    ///   not count.
    /// - Throws: `brokerUnreachable` after 10 s without a connection; after 70 s in which no record became safe the
    ///   broker's reason, or `refused` if it gave none; `stopped`, also when the wait is cancelled. The records are
    ///   sent nevertheless as soon as that is possible.
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

    /// Returns the pending records of the log, those that are not acknowledged yet, in the order in which they were
    /// recorded.
    ///
    /// - Parameter limit: The largest number of records to return, ≥ 0.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`.
    public func waiting(limit: Int) async throws(TrackingError) -> [SpoolEntry] {
        try await self.log.inquire { (storage) throws(TrackingError) in
            try await storage.waiting(after: 0, through: .max, maximumCount: limit).map(\.entry)
        }
    }

    /// Passes the pending records of the log, those that are not acknowledged yet, to `each`, in the order in which
    /// they were recorded. Records that are added during the call are not included. The records are read in small
    /// portions, so that their number does not matter for the memory.
    ///
    /// - Parameter each: Receives one record. `each` is called with the next record once it has returned.
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

    /// Removes all pending records from the log, also those of trackables that are not tracked. The publisher informs
    /// the recorders that these records are gone. Records that are being sent may arrive nevertheless. The newest
    /// position is still published live.
    ///
    /// - Returns: The number of removed records.
    /// - Throws: `stopped`.
    public func purge() async throws(TrackingError) -> Int {
        let count = try await self.records(.purge)
        // This question is answered after the removal.
        _ = try await self.log.inquire { (_) throws(TrackingError) in }
        return count
    }

    /// Returns figures about the log and about sending, such as the number of pending records. If the log cannot be
    /// read, ``LogFigures/failure`` contains the reason, and the figures of its contents are missing.
    public func logFigures() async -> LogFigures {
        var figures = LogFigures()
        (figures.unwritten, figures.writeFailure) = (self.log.unwritten.count, self.log.unwritten.reason)
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

    /// The number of unacknowledged records in the log when the publisher ended; 0 before the end. Quarantined records do
    /// not count.
    package var recordsAtEnd: Int { self.shared.withLock { $0.recordsAtEnd } }

    // MARK: - Quarantined records

    /// Returns the quarantined records of the log, oldest first. They were set aside because the broker or a recorder
    /// can never accept them.
    ///
    /// - Parameter limit: The largest number of records to return, ≥ 0.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`.
    public func quarantined(limit: Int) async throws(TrackingError) -> [QuarantinedRecord] {
        try await self.log.inquire { (storage) throws(TrackingError) in
            try await storage.quarantined(after: 0, maximumCount: limit)
        }
    }

    /// Tries quarantined records once more. Each gets a new number at the end of the trackable's current stream,
    /// becomes a pending record again, and is sent to the recorders at once. Its old number remains declared as gone.
    ///
    /// - Parameter names: The records to try again; `nil` for all. Unknown names and unreadable records are skipped.
    /// - Returns: The number of records that are tried again.
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

    /// Deletes quarantined records, which were set aside because they can never be accepted, from the log.
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

    /// Tracks a trackable, and stops tracking all others.
    ///
    /// - Parameters:
    ///   - trackable: The id and the settings of the trackable.
    ///   - unsent: The treatment of pending records of the other trackables: reject the change, delete the records, or
    ///     send them first.
    ///   - progress: Receives the progress of sending these records, as in ``AssetPublisher/flush(_:)``.
    /// - Throws: `unsentPoints`, with the number of pending records, if `unsent` rejects the change, or if new records
    ///   keep arriving while the pending ones are sent. Otherwise the errors of ``AssetPublisher/flush(_:)``. After an
    ///   error, the same trackables are tracked as before.
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

    /// The largest number of attempts to send all pending records before the publisher changes to another trackable. A
    /// further attempt is necessary if records were added during the previous one.
    private static var bindRounds: Int { 20 }

    /// The number of records that the publisher reads from the log with one query: 100.
    private static var pageSize: Int { 100 }

    // MARK: - Limits

    /// Returns the limits of the log: those wanted, or 100,000 records for a log in memory without limits, which would
    /// otherwise exhaust the memory.
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
