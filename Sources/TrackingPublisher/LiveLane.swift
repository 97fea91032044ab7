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
    /// What of it is tried again where it is lost.
    private var retried: LocationUpdate?
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

    /// The last update in place of one that may not be shown any more, whatever waits.
    mutating func replaced(now: MonotonicTime) -> LocationUpdate? {
        guard self.inFlight == nil, let last = self.last else { return nil }
        if self.waiting?.seq == last.location.seq { self.waiting = nil }
        return self.launch(last, now: now)
    }

    /// What became of positions when they were hidden.
    struct Hiding: Hashable {
        /// Whether the update in flight is taken for lost: its answer counts for nothing.
        var isTakenBack = false
        /// Whether the last update tells what may not be shown any more.
        var isOutdated = false
    }

    /// Of each position that is kept there is from now on what `shown` says; `nil`, nothing. What of it is left out is in the log.
    mutating func hide(_ shown: (Location) -> Location?) -> Hiding {
        var hiding = Hiding()
        if let lost = self.inFlight, (lost.skipped + [lost.location]).contains(where: { shown($0) != $0 }) {
            hiding.isTakenBack = true
            self.takeBack()
        }
        self.waiting = self.waiting.flatMap(shown)
        self.skipped = self.skipped.compactMap(shown)
        guard let last = self.last else { return hiding }
        let location = shown(last.location)
        let skipped = last.skipped.compactMap(shown)
        hiding.isOutdated = location != last.location || skipped != last.skipped
        self.last = location.map { LocationUpdate(location: $0, skipped: hiding.isOutdated ? [] : skipped) }
        return hiding
    }

    /// It has been silent for too long: the newest fix that was kept back goes out. Where there is nothing to say, as after a
    /// refusal of the last update, the silence begins anew.
    ///
    /// - Parameter wallClock: The device's clock; what is ahead of it is never a live update. `nil` where it is not set.
    mutating func endSilence(now: MonotonicTime, wallClock: UnixTime?) {
        self.silentSince = now
        guard self.isIdle, let place = self.newestKeptBack(wallClock: wallClock) else { return }
        self.waiting = self.skipped.remove(at: place)
    }

    /// No more fixes will come: the last one goes out whatever the filter said, and takes along what was not sent; not one that is
    /// ahead of the clock. Where nothing went out before and all that is there is ahead of it, it may as well be the clock that is
    /// wrong: then the last one goes out.
    ///
    /// - Parameter wallClock: As for ``endSilence(now:wallClock:)``.
    mutating func finish(wallClock: UnixTime?) {
        let isUnheard = self.waiting == nil && self.inFlight == nil && self.last == nil
        let timely = self.skipped.lastIndex { Self.isTimely($0, wallClock) }
        let any = self.skipped.lastIndex { LivePosition.fault(of: $0, at: nil) == nil }
        guard let place = timely ?? (isUnheard ? any : nil),
            self.skipped[place].seq ?? 0 > self.waiting?.seq ?? 0
        else { return }
        let newest = self.skipped.remove(at: place)
        if let replaced = self.waiting { self.skip(replaced) }
        self.waiting = newest
    }

    /// The newest fix that was kept back, unless what waits or went out is newer; not one ahead of the clock.
    private func newestKeptBack(wallClock: UnixTime?) -> Int? {
        let shown = self.waiting ?? self.last?.location
        let places = self.skipped.indices.filter { place in
            let fix = self.skipped[place]
            return Self.isTimely(fix, wallClock) && shown.map { $0.isBefore(fix) } ?? true
        }
        return places.max { self.skipped[$0].isBefore(self.skipped[$1]) }
    }

    private static func isTimely(_ fix: Location, _ wallClock: UnixTime?) -> Bool {
        LivePosition.fault(of: fix, at: wallClock) == nil
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
        self.retried = self.inFlight
    }

    /// What was told up to this position is not told again, and nothing that was kept back rides along: the recording lane brings
    /// it. A position that came after it stands.
    mutating func forget(through told: Location?) {
        self.skipped = []
        if self.waiting?.came(after: told) == false { self.waiting = nil }
        if self.last?.location.came(after: told) == false { self.last = nil }
        self.last?.skipped = []
        // The broker's answer counts for all of what is in flight.
        if self.retried?.location.came(after: told) == false { self.retried = nil }
        self.retried?.skipped = []
    }

    /// What the broker took is not said again: whether it still stands nobody knows.
    mutating func forgetTaken() { if self.isIdle { self.last = nil } }

    /// The recording lane brought these: they need not ride along any more.
    mutating func forget(_ seqs: SeqSet) {
        self.skipped.removeAll { $0.seq.map(seqs.contains) ?? false }
    }

    /// The update in flight was not taken: it waits again, or rides along where a newer one waits already.
    mutating func failed() {
        guard self.inFlight != nil else { return }
        if self.retried?.skipped.isEmpty == false {
            self.losses += 1
            // Brokers of MQTT 3.1.1 do not say what is too large for them: they close the connection.
            if self.losses > 1 { self.passengers.refused(to: 0) }
        }
        self.takeBack()
    }

    private mutating func takeBack() {
        self.inFlight = nil
        guard let lost = self.retried else { return }
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
        self.retried = update
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

extension Location {
    /// Whether it came after another: by their numbers within a stream, else by their times; after none, it did not.
    func came(after other: Location?) -> Bool {
        guard let other else { return false }
        guard let seq, let last = other.seq, self.stream == other.stream else { return self.time > other.time }
        return seq > last
    }

    /// Whether `other` is newer: by its time, and of the same time by its number.
    fileprivate func isBefore(_ other: Location) -> Bool {
        (self.time, self.seq ?? 0) < (other.time, other.seq ?? 0)
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
