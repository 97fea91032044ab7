import TrackingCore

extension RuleKeeper {
    /// What was found and is not kept yet.
    struct Desk {
        var book: RuleBook
        var numbers: RuleStreams
        var trips = ToldTrips()
        var told = ToldRecords()
        var version: Int64 = -1
        private(set) var drafts: [Outbox.Draft] = []
        /// The bytes of their payloads.
        private(set) var draftBytes = 0
        var findings: [RuleBook.Finding] = []
        /// Whose place was cleared.
        var cleared: Set<TrackableID> = []
        /// Of those, whose somebody cleared while it was heard.
        var withdrawn: Set<TrackableID> = []
        /// How often that was.
        private(set) var clearings = 0
        /// Of whom the broker keeps a position, or one came since; `nil` once that was compared.
        var kept: Set<TrackableID>?
        /// Whether it was compared since the start.
        var hasCompared = false
        /// What was let go because the file could not be written.
        var lost = 0
        /// What webhooks are to be told from the history; `nil` where they were told everything.
        var missed: MissedRecords?
        /// Whether they were told everything up to some moment.
        var hasListened = false
        /// Whether it is to be kept up to when they were told everything.
        var isCursorDue = false

        /// Where it was, and what happened there, is nothing to tell any more.
        mutating func clear(_ id: TrackableID, now: UnixTime) {
            self.book.forget(id, now: now)
            self.drafts.removeAll { $0.trackable == id }
            self.draftBytes = self.drafts.reduce(0) { $0 + $1.payload.utf8.count }
            self.findings.removeAll { $0.trackable == id }
            self.cleared.insert(id)
            self.clearings += 1
        }

        /// Webhooks are to be told something.
        ///
        /// - Parameter names: The records that are told with it.
        mutating func put(
            _ kind: Outbox.Kind, _ names: [RecordName], of id: TrackableID, _ payload: [UInt8], now: UnixTime
        ) {
            self.draftBytes += payload.count
            self.told.told(kind, names, of: id, now: now)
            self.missed?.told(names, of: id)
            self.drafts.append(
                Outbox.Draft(
                    trackable: id, kind: kind, time: now, payload: String(decoding: payload, as: UTF8.self),
                    record: kind == .position ? nil : names.first))
        }

        /// Nobody listens from now on.
        mutating func deaf(now: UnixTime) {
            self.book.deaf(now: now)
            self.missed?.until = nil
            self.missed?.isToldOnce = false
            guard self.hasListened, self.missed == nil else { return }
            self.missed = MissedRecords(since: now, before: self.told, trips: self.trips)
        }

        /// Everything is heard again.
        mutating func listening(now: UnixTime) {
            self.book.listening(now: now)
            self.hasListened = true
            self.isCursorDue = true
        }

        /// Of what was missed, what the history had by now was told.
        mutating func missedWasTold() {
            self.missed?.isToldOnce = true
            self.isCursorDue = true
        }

        /// Of what was missed, everything was told.
        mutating func missedNothingMore() {
            self.missed = nil
            self.isCursorDue = true
        }

        /// What is to be kept, which goes from here. Up to when webhooks were told everything is kept once they were.
        mutating func takeRows(now: UnixTime) -> RuleRows {
            defer {
                (self.findings, self.drafts, self.cleared, self.withdrawn) = ([], [], [], [])
                self.draftBytes = 0
            }
            let findings = self.findings
            let own = findings.map { finding in
                let event = self.numbers.event(finding)
                return Outbox.Draft(
                    trackable: finding.trackable, kind: .event, isOwn: true, time: event.time,
                    payload: String(decoding: MessageCodec.encode(event), as: UTF8.self))
            }
            var rows = RuleRows(
                cleared: self.cleared, withdrawn: self.withdrawn, states: self.book.takeChanges(),
                dropped: self.book.takeDropped(),
                streams: self.numbers.takeChanges(), drafts: self.drafts + own)
            guard self.missed?.isToldOnce != false else { return rows }
            (rows.trips, rows.told) = (self.trips.takeChanges(), self.told.takeChanges())
            if self.isCursorDue, self.hasListened { rows.toldUntil = now }
            self.isCursorDue = false
            return rows
        }
    }
}
