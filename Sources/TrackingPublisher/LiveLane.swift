import TrackingCore

/// Decides what goes out next on one lane of one trackable: at most one update is in flight, the newest that passed the
/// filter waits behind it, and what was not sent rides along with the next one.
struct LiveLane: Sendable {
    /// Which fixes are sent.
    var filter: LocationFilter
    /// The last update that went out, to be published again when nothing else is.
    private(set) var last: LocationUpdate?
    /// What was not sent by itself, in order of capture.
    private var skipped: [Location] = []
    private var inFlight: LocationUpdate?
    private var waiting: Location?
    /// When silence began.
    private var silentSince: MonotonicTime?
    /// How many ride along at the most: what is left out is in the log, and the recording lane brings it.
    private var passengers = SendLimit(maximum: LocationUpdate.maximumSkipped)
    /// How often running an update with others was lost.
    private var losses = 0

    init(filter: LocationFilter) {
        self.filter = filter
    }

    /// Nothing is on its way or waits to be.
    var isIdle: Bool { self.inFlight == nil && self.waiting == nil }

    /// A position waits to go out.
    var isWaiting: Bool { self.waiting != nil }

    /// When an update must go out even if nothing moves; `nil` when never.
    ///
    /// - Parameter isHolding: Whether what waits is held back, and not about to go.
    func silenceDeadline(isHolding: Bool) -> MonotonicTime? {
        let silence = self.filter.effectiveMaximumSilence
        guard silence > .zero, let silentSince = self.silentSince, isHolding ? self.inFlight == nil : self.isIdle
        else { return nil }
        return silentSince.advanced(by: silence)
    }

    /// A captured fix; it is sent, waits or is kept to ride along.
    ///
    /// - Parameter isAsked: Whether somebody asked for it: then it goes out, however soon and close.
    mutating func captured(
        _ fix: Location, isAsked: Bool = false, now: MonotonicTime, wallClock: UnixTime?
    ) -> LocationFilter.Verdict {
        var verdict = self.filter.consider(fix, now: now, wallClock: wallClock)
        if isAsked, [.tooSoon, .tooClose].contains(verdict) { verdict = .sent }
        if verdict.isSent {
            if let replaced = self.waiting { self.skip(replaced) }
            self.waiting = fix
        } else {
            self.skip(fix)
        }
        return verdict
    }

    /// The update to publish now; `nil` while one is in flight, or none waits that is written to the log.
    ///
    /// - Parameter written: Records up to here are in the log.
    mutating func next(written: UInt64 = .max, now: MonotonicTime) -> LocationUpdate? {
        guard self.inFlight == nil, let location = self.waiting, location.seq ?? 0 <= written else { return nil }
        self.waiting = nil
        let update = LocationUpdate(location: location, skipped: self.takeSkipped(before: location))
        self.filter.sent(location, now: now)
        return self.launch(update, now: now)
    }

    /// The last update once more, unchanged: for those who just came, and when it has been silent for too long.
    mutating func again(now: MonotonicTime) -> LocationUpdate? {
        guard self.isIdle, let last = self.last else { return nil }
        self.filter.repeated(now: now)
        return self.launch(last, now: now)
    }

    /// It has been silent for too long: the newest fix that was kept back goes out. Where there is nothing to say, as after a
    /// refusal of the last update, the silence begins anew.
    ///
    /// - Parameter wallClock: The device's clock; what is ahead of it is never a live update. `nil` where it is not set.
    mutating func endSilence(now: MonotonicTime, wallClock: UnixTime?) {
        self.silentSince = now
        let place = self.skipped.lastIndex { fix in
            wallClock.map { fix.time.since($0) <= LocationFilter.maximumAhead } ?? true
        }
        guard self.isIdle, let place, self.skipped[place].time >= self.last?.location.time ?? self.skipped[place].time
        else { return }
        self.waiting = self.skipped.remove(at: place)
    }

    /// No more fixes will come: the newest one goes out whatever the filter said, and takes along what was not sent.
    mutating func finish() {
        guard let newest = self.skipped.last, newest.seq ?? 0 > self.waiting?.seq ?? 0 else { return }
        self.skipped.removeLast()
        if let replaced = self.waiting { self.skip(replaced) }
        self.waiting = newest
    }

    /// The broker took the update in flight.
    ///
    /// - Returns: The records that it carried.
    @discardableResult
    mutating func acknowledged() -> SeqSet {
        defer { self.inFlight = nil }
        self.losses = 0
        self.passengers.taken()
        return self.inFlight?.seqs ?? SeqSet()
    }

    /// The records on their way.
    var seqsInFlight: SeqSet { self.inFlight?.seqs ?? SeqSet() }

    /// The oldest of the points that ride along with the update in flight did not fit in: the recording lane brings them.
    mutating func leftOut(_ count: Int) {
        guard count > 0 else { return }
        self.inFlight?.skipped.removeFirst(count)
    }

    /// The recording lane brought these: they need not ride along any more.
    mutating func forget(_ seqs: SeqSet) {
        self.skipped.removeAll { $0.seq.map(seqs.contains) ?? false }
    }

    /// The update in flight was not taken: it waits again, or rides along where a newer one waits already.
    mutating func failed() {
        guard let lost = self.inFlight else { return }
        self.inFlight = nil
        if !lost.skipped.isEmpty {
            self.losses += 1
            // Brokers of MQTT 3.1.1 do not say what is too large for them: they close the connection.
            if self.losses > 1 { self.passengers.refused(to: 0) }
        }
        self.skipped = lost.skipped + self.skipped
        if self.waiting == nil, lost.location.seq != nil {
            self.waiting = lost.location
        } else {
            self.skip(lost.location)
        }
    }

    /// The update in flight is larger than the broker takes, or says what it does not take: it goes by itself. One that did so
    /// already is left to the recording lane.
    ///
    /// - Returns: Whether it goes again.
    mutating func refusedForContent() -> Bool {
        guard let lost = self.inFlight else { return false }
        self.passengers.refused(to: 0)
        guard lost.skipped.isEmpty else {
            self.failed()
            return true
        }
        self.inFlight = nil
        self.last = nil
        return false
    }

    private mutating func launch(_ update: LocationUpdate, now: MonotonicTime) -> LocationUpdate {
        self.inFlight = update
        self.last = update
        self.silentSince = now
        return update
    }

    private mutating func skip(_ fix: Location) {
        // Nearly always the newest, so this looks at one element.
        let place = self.skipped.lastIndex { $0.seq ?? 0 <= fix.seq ?? 0 }.map { $0 + 1 } ?? 0
        self.skipped.insert(fix, at: place)
        // An amortised cut: dropping from the front of an array costs its length.
        if self.skipped.count > 2 * LocationUpdate.maximumSkipped {
            self.skipped.removeFirst(self.skipped.count - LocationUpdate.maximumSkipped)
        }
    }

    private mutating func takeSkipped(before location: Location) -> [Location] {
        let end = self.skipped.firstIndex { $0.seq ?? 0 > location.seq ?? 0 } ?? self.skipped.endIndex
        let taken = self.skipped[..<end].suffix(self.passengers.current)
        self.skipped.removeSubrange(..<end)
        return Array(taken)
    }
}

extension LocationUpdate {
    /// The numbers of the records that it carries.
    var seqs: SeqSet {
        var seqs = SeqSet()
        for location in self.skipped + [self.location] { location.seq.map { seqs.insert($0) } }
        return seqs
    }
}
