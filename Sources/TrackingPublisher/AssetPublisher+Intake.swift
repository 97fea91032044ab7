public import TrackingCore
import TrackingRuntime

/// Records that come from outside, by HTTP for instance.
extension AssetPublisher {
    /// The most records that are taken in one call.
    public static var maximumDrafts: Int { 10_000 }

    /// Takes records of one trackable, which is carried from now on, and returns when all of them are safe: in this
    /// publisher's log, taken by the broker, and acknowledged by every recorder of ``PublisherConfiguration/recording``.
    ///
    /// Each is given the next number of the trackable's stream, in order of time; one whose digest is known from before, up to
    /// ``RecordMark/maximumAge``, keeps the name it has, whatever batch it comes in, and is not recorded twice. A position
    /// or a version of a trip that is newer than what was told before goes to its topic, through the resolution's filter, and every
    /// event of the last week; all of it is recorded.
    ///
    /// The trackable is left again ``PublisherConfiguration/intakeLease`` after the last call, once all of it is safe.
    ///
    /// - Parameters:
    ///   - drafts: At most ``maximumDrafts``.
    ///   - limit: How long they may take to be safe.
    /// - Returns: Their names, in their order; two that are the same have the same.
    /// - Throws: `payloadTooLarge`: too many, or the detail of an event has more than ``WireLimits/maximumDetailBytes``. `spoolFailed`, `spoolDamaged`: not recorded. After `limit` what is waited for:
    ///   `brokerUnreachable`, `notAcknowledged`, or why the broker refuses; they are recorded then, and tried on. `stopped`.
    public func take(
        _ drafts: [RecordDraft], for id: TrackableID, within limit: Duration
    ) async throws(TrackingError) -> [RecordName] {
        guard drafts.count <= Self.maximumDrafts else {
            throw TrackingError(
                .payloadTooLarge, "\(drafts.count) records are too many; at most \(Self.maximumDrafts) go together")
        }
        for case .event(let event) in drafts.lazy.map(\.content) { try event.checkDetail() }
        guard !drafts.isEmpty else { return [] }
        let deadline = self.clock.moment.now.advanced(by: limit)
        let answer = await self.request { .take(drafts, of: id, by: deadline, request: $0) }
        guard case .taken(let names) = try answer.get() else {
            throw TrackingError(.stopped, "the publisher gave no answer")
        }
        return names
    }

    /// Where a trackable was is not to be known any more, as after the position that the broker keeps was cleared: what was told
    /// up to `told`, which everyone heard last, is not told again, neither to those who come nor with what comes next. A position
    /// that was taken after it stands. The log goes its way: what is erased is its reader's to tell.
    ///
    /// - Parameter told: The last position that was heard of it, of whatever publisher; `nil`: whatever there is.
    public func forgetPosition(of id: TrackableID, through told: Location?) {
        self.mailbox.post(.forget(id, through: told))
    }

    /// Erases the records of a trackable from the log, those that wait to be sent included: see ``SpoolStorage/erase(_:before:)``.
    /// Recorders learn that their numbers are gone. The last published position is not affected:
    /// ``forgetPosition(of:through:)``.
    ///
    /// - Parameter time: Only records of an earlier time; `nil` for all.
    /// - Throws: `spoolFailed`, `spoolDamaged`, `stopped`.
    public func erase(_ id: TrackableID, before time: UnixTime?) async throws(TrackingError) {
        try await self.log.inquire { (storage) throws(TrackingError) in try await storage.erase(id, before: time) }
    }

    /// Carries every trackable of which the log holds records, until those are safe: what was left when the program ended
    /// before goes out, though nothing new comes. Called before ``run()``.
    public func drain() { self.mailbox.post(.drain) }
}
