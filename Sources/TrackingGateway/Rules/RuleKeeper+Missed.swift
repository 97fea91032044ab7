import Logging
import Synchronization
import TrackingCore
import TrackingStore

/// What happened while nobody listened, and a recorder stored, is told to webhooks once somebody does again.
extension RuleKeeper {
    /// The history is looked through so long after everything is heard again, and once more after the second of them: devices send
    /// what they recorded in batches.
    private static let looks: [Duration] = [.seconds(1), .seconds(60)]
    /// So many records are read at once.
    private static let page = 500
    /// Of those that wait for the file so many are enough.
    private static let enough = 1000

    /// Tells what was missed, whenever there is something, until the task is cancelled.
    func tellMissed() async {
        while (try? await Task.sleep(for: .milliseconds(100))) != nil {
            guard let until = self.desk.withLock({ $0.missed?.until }) else { continue }
            guard let history = self.history, history.isPresent else {
                self.logger.warning("webhooks are not told what happened meanwhile: there is no history")
                self.desk.withLock { $0.missedNothingMore() }
                continue
            }
            for wait in Self.looks {
                try? await Task.sleep(for: wait)
                guard await self.look(through: history, until) else { break }
                self.desk.withLock { if $0.missed?.until == until { $0.missedWasTold() } }
            }
            self.desk.withLock { if $0.missed?.until == until { $0.missedNothingMore() } }
        }
    }

    /// Looks through all of it.
    ///
    /// - Returns: Whether that was possible: nobody stopped listening.
    private func look(through history: any HistoryStore, _ until: UnixTime) async -> Bool {
        var after: TrackableID?
        repeat {
            let last = after
            let page = await self.asked(until) { () throws(TrackingError) in
                try await history.trackables(after: last, limit: Self.page)
            }
            guard let page else { return false }
            for id in page.map(\.id) {
                guard await self.look(through: history, for: id, until) else { return false }
            }
            after = page.count < Self.page ? nil : page.last?.id
        } while after != nil
        return true
    }

    private func look(through history: any HistoryStore, for id: TrackableID, _ until: UnixTime) async -> Bool {
        let kinds = self.configuration.kinds
        if kinds.contains(.event) {
            guard await self.lookForEvents(in: history, of: id, until) else { return false }
        }
        if kinds.contains(.trip) {
            guard await self.lookForTrips(in: history, of: id, until) else { return false }
        }
        return kinds.contains(.position) ? await self.lookForPoints(in: history, of: id, until) : true
    }

    private func lookForEvents(in history: any HistoryStore, of id: TrackableID, _ until: UnixTime) async -> Bool {
        await self.tellAll(id, until) { (times, last) throws(TrackingError) in
            try await history.events(of: id, during: times, after: last, limit: Self.page)
        } next: {
            Self.last(of: $0)
        } telling: { events, desk, now in
            for event in events where !desk.numbers.isOwn(event.stream, of: id) {
                let name = RecordName(stream: event.stream, seq: event.seq)
                guard desk.missed?.isMissed(.event, name, of: id) == true else { continue }
                desk.put(.event, [name], of: id, MessageCodec.encode(event), now: now)
            }
        }
    }

    private func lookForTrips(in history: any HistoryStore, of id: TrackableID, _ until: UnixTime) async -> Bool {
        await self.tellAll(id, until) { (times, last) throws(TrackingError) in
            try await history.trips(of: id, during: times, after: last, limit: Self.page)
        } next: {
            Self.last(of: $0)
        } telling: { trips, desk, now in
            for trip in trips where desk.missed?.isMissed(trip, of: id) == true {
                let name = RecordName(stream: trip.stream, seq: trip.seq)
                desk.put(.trip, [name], of: id, MessageCodec.encode(trip), now: now)
            }
        }
    }

    private func lookForPoints(in history: any HistoryStore, of id: TrackableID, _ until: UnixTime) async -> Bool {
        await self.tellAll(id, until) { (times, last) throws(TrackingError) in
            try await history.points(PointQuery(id, during: times), after: last, limit: Self.page)
        } next: { (page: PointPage) in
            page.next
        } telling: { page, desk, now in
            for point in page.points.filter({ !$0.hasClockFault }).map(\.location) {
                guard let name = point.name, desk.missed?.isMissed(.position, name, of: id) == true,
                    let payload = try? LocationCodec.encode(LocationUpdate(location: point))
                else { continue }
                desk.put(.position, [name], of: id, payload, now: now)
            }
        }
    }

    /// Where the next page begins: behind the last record of a full one.
    private static func last<Record>(of page: [Record]) -> Record? { page.count < Self.page ? nil : page.last }

    /// Reads page after page, and tells what of each is to be told.
    ///
    /// - Parameter next: Where the page behind one begins; `nil` behind the last.
    /// - Returns: Whether that was possible: nobody stopped listening.
    private func tellAll<Page: Sendable, Place: Sendable>(
        _ id: TrackableID, _ until: UnixTime,
        read: @Sendable (TimeSpan, Place?) async throws(TrackingError) -> Page, next: (Page) -> Place?,
        telling: (Page, inout Desk, UnixTime) -> Void
    ) async -> Bool {
        var place: Place?
        repeat {
            let begin = place
            let page = await self.told(
                id, until, read: { (times) throws(TrackingError) in try await read(times, begin) }, telling: telling)
            guard let page else { return false }
            place = next(page)
        } while place != nil
        return true
    }

    /// Reads a page, and tells what of it is to be told; again where something was erased meanwhile.
    ///
    /// - Returns: The page; `nil` where nobody listens any more.
    private func told<Page: Sendable>(
        _ id: TrackableID, _ until: UnixTime,
        read: @Sendable (TimeSpan) async throws(TrackingError) -> Page,
        telling: (Page, inout Desk, UnixTime) -> Void
    ) async -> Page? {
        while true {
            let (times, clearings) = self.desk.withLock { ($0.missed?.times, $0.clearings) }
            guard let times else { return nil }
            let page = await self.asked(until) { () throws(TrackingError) in try await read(times) }
            guard let page else { return nil }
            let now = self.configuration.now()
            let isTold = self.desk.withLock { desk in
                guard desk.clearings == clearings, desk.missed != nil else { return false }
                telling(page, &desk, now)
                return true
            }
            if isTold { return page }
        }
    }

    /// Asks the history until it answers, once there is room for what it says.
    ///
    /// - Returns: `nil` where nobody listens any more, or the task is cancelled.
    private func asked<Value: Sendable>(
        _ until: UnixTime, _ question: () async throws(TrackingError) -> Value
    ) async -> Value? {
        var wait = Duration.seconds(1)
        while !Task.isCancelled, self.desk.withLock({ $0.missed?.until == until }) {
            guard self.desk.withLock({ $0.drafts.count < Self.enough }) else {
                try? await Task.sleep(for: .milliseconds(20))
                continue
            }
            do throws(TrackingError) {
                return try await question()
            } catch {
                guard !Task.isCancelled else { return nil }
                self.logger.warning("what webhooks missed is not known yet", metadata: ["reason": "\(error.message)"])
                try? await Task.sleep(for: wait)
                wait = min(wait * 2, .seconds(30))
            }
        }
        return nil
    }
}

extension Location {
    /// Its name as a record; `nil` where it has none.
    var name: RecordName? {
        guard let stream = self.stream, let seq = self.seq else { return nil }
        return RecordName(stream: stream, seq: seq)
    }
}
