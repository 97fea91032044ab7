public import TrackingCore
import TrackingRuntime

/// The ingest: records that other devices made, and that reach this program over HTTP, for example.
extension AssetPublisher {
    /// The largest number of records in one call of ``take(_:for:within:)``: 10,000.
    public static var maximumDrafts: Int { 10_000 }

    /// Ingests records of one trackable that another device made, and returns when all of them are safe. A record is
    /// safe when it is in this publisher's log, and the broker and every recorder of
    /// ``PublisherConfiguration/recording`` have acknowledged it.
    ///
    /// Each new record gets the next number of the trackable's stream, in order of time. A record that was ingested
    /// before is recognized by its digest, up to ``/TrackingCore/RecordMark/maximumAge``. It gets its earlier name and
    /// is not recorded again.
    ///
    /// All new records are recorded; only some are also published live. A position or a version of a trip is published
    /// if no newer one was published before. An event is published if no newer event was published before, or if it
    /// happened in the last week. A record whose time is more than 60 s in the future is never published.
    ///
    /// The trackable remains tracked until all of its records are safe and ``PublisherConfiguration/intakeLease`` has
    /// passed since the last call.
    ///
    /// - Parameters:
    ///   - drafts: The records, at most ``maximumDrafts``.
    ///   - id: The id of the trackable, tracked or not.
    ///   - limit: The longest time to wait until the records are safe, ≥ 0 s.
    /// - Returns: The names (stream and number) of the records, in the order of `drafts`. Equal records have the same
    ///   name.
    /// - Throws: `payloadTooLarge` for too many records, or an event whose detail has more than
    ///   ``/TrackingCore/WireLimits/maximumDetailBytes``. `spoolFailed` or `spoolDamaged` if the records could not be
    ///   written to the log. `stopped` if the publisher has ended. After `limit`, `spoolFailed` if the records are not
    ///   written yet; otherwise `brokerUnreachable`, `notAcknowledged`, `refused` or the broker's reason. In these
    ///   other cases the records are in the log and are sent later.
    public func take(
        _ drafts: [RecordDraft], for id: TrackableID, within limit: Duration
    ) async throws(TrackingError) -> [RecordName] {
        guard drafts.count <= Self.maximumDrafts else {
            throw TrackingError(
                .payloadTooLarge,
                "cannot ingest \(drafts.count) records in one call: the limit is \(Self.maximumDrafts). Divide the records among several calls."
            )
        }
        for case .event(let event) in drafts.lazy.map(\.content) { try event.checkDetail() }
        guard !drafts.isEmpty else { return [] }
        let deadline = self.clock.moment.now.advanced(by: limit)
        let answer = await self.request { .ingest(drafts, of: id, by: deadline, request: $0) }
        guard case .taken(let names) = try answer.get() else {
            throw TrackingError(
                .stopped,
                "cannot ingest records: the publisher ended before it answered. Send the records again to a new publisher."
            )
        }
        return names
    }

    /// Stops publishing the positions of a trackable up to a given one. Call this function after the retained position
    /// was cleared, so that an older position does not appear again. The log still sends its records to recorders.
    ///
    /// - Parameters:
    ///   - id: The id of the trackable. Does nothing when the trackable is not tracked.
    ///   - watermark: The newest position that must not be published any more. It is the last one that was received
    ///     from any publisher of the trackable. `nil` stands for every position so far.
    public func forgetPosition(of id: TrackableID, through watermark: Location?) {
        self.mailbox.post(.forget(id, through: watermark))
    }

    /// Erases the records of a trackable from the log, sent or not: see
    /// ``/TrackingCore/SpoolStorage/erase(_:before:)``. The publisher informs the recorders that the numbers of the
    /// erased records are gone. The retained position at the broker remains: see ``forgetPosition(of:through:)``.
    ///
    /// - Parameters:
    ///   - id: The id of the trackable, tracked or not.
    ///   - time: Erases only records of an earlier time; `nil` erases all.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`.
    public func erase(_ id: TrackableID, before time: UnixTime?) async throws(TrackingError) {
        try await self.log.inquire { (storage) throws(TrackingError) in try await storage.erase(id, before: time) }
    }

    /// Sends the pending records that an earlier run of the program left in the log. For this, each trackable with such
    /// records is tracked until all of them are acknowledged. Call this function before ``run()``.
    public func drain() { self.mailbox.post(.drain) }
}
