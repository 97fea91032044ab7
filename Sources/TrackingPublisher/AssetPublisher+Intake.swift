public import TrackingCore
import TrackingRuntime

/// Ingested records, which reach the program over HTTP, for example.
extension AssetPublisher {
    /// The largest number of records in one call of ``take(_:for:within:)``: 10,000.
    public static var maximumDrafts: Int { 10_000 }

    /// Ingests records of one trackable, and returns when all of them are safe: in this publisher's log, acknowledged
    /// by the broker, and acknowledged by every recorder of ``PublisherConfiguration/recording``.
    ///
    /// Each record gets the next number of the trackable's stream, in order of time. A record with a known digest, up
    /// to ``RecordMark/maximumAge``, retains its name and is not recorded twice. A position or a version of a trip is
    /// published when it is newer than every one published before. An event is also published when it happened in the
    /// last week. All of them are recorded.
    ///
    /// The trackable remains tracked until all of its records are safe and ``PublisherConfiguration/intakeLease`` has
    /// passed since the last call.
    ///
    /// - Parameters:
    ///   - drafts: The records, at most ``maximumDrafts``.
    ///   - id: The name of the trackable, tracked or not.
    ///   - limit: The longest time to wait until the records are safe, ≥ 0 s.
    /// - Returns: The names of the records, in their order. Two records with the same content have the same name.
    /// - Throws: `payloadTooLarge` for too many records, or an event whose detail has more than
    ///   ``WireLimits/maximumDetailBytes``; `spoolFailed` or `spoolDamaged` when they are not recorded; `stopped`.
    ///   After `limit` the records are recorded and tried again: `brokerUnreachable`, `notAcknowledged`, or the
    ///   broker's reason.
    public func take(
        _ drafts: [RecordDraft], for id: TrackableID, within limit: Duration
    ) async throws(TrackingError) -> [RecordName] {
        guard drafts.count <= Self.maximumDrafts else {
            throw TrackingError(
                .payloadTooLarge,
                "cannot ingest \(drafts.count) records at once: the limit is \(Self.maximumDrafts). Divide them.")
        }
        for case .event(let event) in drafts.lazy.map(\.content) { try event.checkDetail() }
        guard !drafts.isEmpty else { return [] }
        let deadline = self.clock.moment.now.advanced(by: limit)
        let answer = await self.request { .ingest(drafts, of: id, by: deadline, request: $0) }
        guard case .taken(let names) = try answer.get() else {
            throw TrackingError(.stopped, "cannot ingest records: the publisher gave no answer")
        }
        return names
    }

    /// Suppresses positions up to and including the given watermark, after the retained position was cleared. Records
    /// in the log are sent nevertheless; the program that erases informs the recorders.
    ///
    /// - Parameters:
    ///   - id: The name of the trackable. Does nothing when the trackable is not tracked.
    ///   - watermark: The last position of the trackable that was received from any publisher; `nil` suppresses every
    ///     position so far.
    public func forgetPosition(of id: TrackableID, through watermark: Location?) {
        self.mailbox.post(.forget(id, through: watermark))
    }

    /// Erases the records of a trackable from the log, including unsent records: see
    /// ``SpoolStorage/erase(_:before:)``. Recorders are informed that the numbers are gone. The retained position is
    /// not affected: see ``forgetPosition(of:through:)``.
    ///
    /// - Parameters:
    ///   - id: The name of the trackable, tracked or not.
    ///   - time: Erases only records of an earlier time; `nil` erases all.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`.
    public func erase(_ id: TrackableID, before time: UnixTime?) async throws(TrackingError) {
        try await self.log.inquire { (storage) throws(TrackingError) in try await storage.erase(id, before: time) }
    }

    /// Tracks every trackable with records in the log until the records are safe. The backlog of an earlier run is
    /// then sent without new records. Call this function before ``run()``.
    public func drain() { self.mailbox.post(.drain) }
}
