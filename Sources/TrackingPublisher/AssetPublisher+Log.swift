import Synchronization
public import TrackingCore
import TrackingRuntime

/// The log: what waits, what was set aside, and sending it when the user says so.
///
/// All of it works without a connection as well, as far as it needs none. Before ``AssetPublisher/run()`` nothing is answered; after
/// it everything throws `stopped`.
extension AssetPublisher {
    // MARK: - Sending

    /// Sends one batch of each trackable now, or joins the one on its way; returns when the broker took them.
    ///
    /// - Returns: How many records they have; 0 when nothing waits.
    /// - Throws: `brokerUnreachable` after 10 s without a connection; after 20 s in which it was not taken, why; `stopped`, also
    ///   when the wait is cancelled. What was asked for goes out all the same, once it can.
    public func sendNow() async throws(TrackingError) -> Int { try await self.records(.sendNow) }

    /// Sends everything that waits now, what was published just before included, and returns when all of it is safe, as
    /// ``PublisherConfiguration/recording`` says what that is. What comes meanwhile is not waited for, nor is what is held of trackables that are not carried.
    ///
    /// - Parameter progress: Told how many of how many do not wait any more: after each batch, and every 10 s.
    /// - Returns: How many were sent; not those that were dropped, forgotten or set aside meanwhile.
    /// - Throws: `brokerUnreachable` after 10 s without a connection; after 70 s in which nothing became safe, why. What was asked
    ///   for goes out all the same, once it can.
    public func flush(
        _ progress: @Sendable (_ done: Int, _ total: Int) async -> Void
    ) async throws(TrackingError) -> Int {
        // What is being written can not be sent yet.
        if !self.isOpeningLog { await self.publishedIsLogged() }
        // Of what is said faster than it is told, the newest counts; the answer is the last that is said.
        let (replies, reply) = AsyncStream.makeStream(of: Reply.self, bufferingPolicy: .bufferingNewest(2))
        self.request({ .asked(.flush, request: $0) }, { reply.yield($0) })
        for await reply in replies {
            switch reply {
            case .progressed(let done, let total): await progress(done, total)
            case .answered(let result): return try Self.records(result)
            }
        }
        throw TrackingError(.stopped, "the wait was cancelled; sending goes on")
    }

    // MARK: - What waits

    /// The records that wait, in the order in which they were recorded.
    ///
    /// - Parameter limit: How many at the most.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`.
    public func waiting(limit: Int) async throws(TrackingError) -> [SpoolEntry] {
        try await self.log.inquire { (storage) throws(TrackingError) in
            try await storage.waiting(after: 0, through: .max, maximumCount: limit).map(\.entry)
        }
    }

    /// Hands over the records that wait, one after the other, in the order in which they were recorded. Each that is there when
    /// it is asked for and still there when its turn comes is handed over once; what is recorded meanwhile is not. Takes the same
    /// memory whatever waits.
    ///
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`; what `each` throws, which ends it.
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

    /// Forgets everything that waits, also of trackables that are not carried; recorders are told that it is gone. What is on
    /// its way may arrive all the same, and the newest position still goes out on the live lane.
    ///
    /// - Returns: How many records there were.
    /// - Throws: `stopped`.
    public func purge() async throws(TrackingError) -> Int {
        let count = try await self.records(.purge)
        // Behind the removal.
        _ = try await self.log.inquire { (_) throws(TrackingError) in }
        return count
    }

    /// How the log stands, and how sending goes.
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

    // MARK: - What was set aside

    /// The records that were refused for good, oldest first.
    ///
    /// - Parameter limit: How many at the most.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`.
    public func quarantined(limit: Int) async throws(TrackingError) -> [QuarantinedRecord] {
        try await self.log.inquire { (storage) throws(TrackingError) in
            try await storage.quarantined(after: 0, maximumCount: limit)
        }
    }

    /// Puts records back in line under new names, at the end of the stream that is written; they go at once, on the recording lane.
    /// Their old numbers stay declared gone.
    ///
    /// - Parameter names: Which; `nil` for all. Names of which nothing is set aside are passed over, and so is what cannot be read.
    /// - Returns: How many there were.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`: what was not put back by then stays set aside.
    public func retryQuarantined(_ names: [RecordName]?) async throws(TrackingError) -> Int {
        let wanted = names.map { Set($0) }
        // What is set aside once more meanwhile is not put back again.
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

    /// Forgets records that were set aside.
    ///
    /// - Parameter names: Which; `nil` for all.
    /// - Returns: How many there were.
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

    /// Carries a trackable in place of all that was carried.
    ///
    /// - Parameter unsent: What becomes of records of the others that are not safe yet.
    /// - Throws: `unsentPoints`, with how many, when there are some and they are not to be cleared; with `send`, when they do not
    ///   come to an end; else as ``AssetPublisher/flush(_:)``. Nothing has changed then.
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

    /// How often what was recorded while the rest was sent is sent as well.
    private static var bindRounds: Int { 20 }

    /// How many records are held in memory when many are asked for.
    private static var pageSize: Int { 100 }

    // MARK: - Limits

    /// Memory has an end where a disk has a user who looks after it.
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
