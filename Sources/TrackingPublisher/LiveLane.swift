import TrackingCore

/// Decides which position of one trackable is published next on one of its two live topics. One topic has the filtered
/// positions, the other one has the raw positions.
///
/// At most one update is in flight, that is, published and not acknowledged. Meanwhile, the newest fix that passed the
/// filter waits. All other fixes are skipped: the next update contains the newest of them, up to a limit, beside its
/// own position.
struct LiveLane: Sendable {
    /// The update filter, which selects the fixes that are published live.
    var filter: LocationFilter
    /// The last update that was published on this live topic, which can be published again; `nil` for none.
    private(set) var last: LocationUpdate?
    /// The skipped fixes, which had no update of their own, in order of capture.
    private var skipped: [Location] = []
    private var inFlight: LocationUpdate?
    /// The update in flight, without the skipped fixes that were cut off to make the message smaller. It is sent again
    /// when the update in flight is lost.
    private var retried: LocationUpdate?
    private var waiting: Location?
    /// The time from which the present silence (the time without updates) counts: the time at which an update was last
    /// published, or at which the maximum silence was last reached.
    private var silentSince: MonotonicTime?
    /// The largest number of skipped fixes that one update contains. It is reduced when the broker rejects an update
    /// for its size or content, or when updates with skipped fixes are lost repeatedly. Further fixes remain in the log
    /// and are sent to recorders in batches.
    private var passengers = SendLimit(maximum: LocationUpdate.maximumSkipped)
    /// The number of updates in a row that contained skipped fixes and were lost before the broker acknowledged them.
    private var losses = 0

    init(filter: LocationFilter) {
        self.filter = filter
    }

    /// `true` while no update is in flight and no fix waits to be published.
    var isIdle: Bool { self.inFlight == nil && self.waiting == nil }

    /// `true` while a fix waits to be published.
    var isWaiting: Bool { self.waiting != nil }

    /// The time at which an update must be published even if the trackable does not move; `nil` when there is no such
    /// time.
    ///
    /// - Parameter isHolding: `true` while sending is deferred. The update is then due although a fix waits; otherwise
    ///   a waiting fix means that there is no such time.
    func silenceDeadline(isHolding: Bool) -> MonotonicTime? {
        let silence = self.filter.effectiveMaximumSilence
        guard silence > .zero, let silentSince = self.silentSince, isHolding ? self.inFlight == nil : self.isIdle
        else { return nil }
        return silentSince.advanced(by: silence)
    }

    /// Processes a captured fix: it waits to be published, or it is skipped, as the update filter decides.
    ///
    /// - Parameter isAsked: `true` for a fix that was requested explicitly. It is published even if it is too soon
    ///   after, or too close to, the previous one.
    /// - Returns: The decision of the filter.
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

    /// Returns the update to publish now. `nil` while another update is in flight, when no fix waits, or when the
    /// waiting fix is not in the log yet.
    ///
    /// - Parameter written: The highest number of a record that is written to the log.
    mutating func next(written: UInt64 = .max, now: MonotonicTime) -> LocationUpdate? {
        guard self.inFlight == nil, let location = self.waiting, location.seq ?? 0 <= written else { return nil }
        self.waiting = nil
        let update = LocationUpdate(location: location, skipped: self.takeSkipped(before: location))
        self.filter.sent(location, now: now)
        return self.launch(update, now: now)
    }

    /// Returns the last update for publishing it again unchanged, for example for new subscribers. `nil` if there is
    /// none, and while another update is in flight or a fix waits.
    mutating func again(now: MonotonicTime) -> LocationUpdate? {
        guard self.isIdle, let last = self.last else { return nil }
        self.filter.repeated(now: now)
        return self.launch(last, now: now)
    }

    /// Returns the last published update, to publish it again after some of its positions were hidden. The update then
    /// replaces the published one, and goes before a waiting fix. Returns `nil` if there was no update, and while
    /// another update is in flight.
    mutating func replaced(now: MonotonicTime) -> LocationUpdate? {
        guard self.inFlight == nil, let last = self.last else { return nil }
        if self.waiting?.seq == last.location.seq { self.waiting = nil }
        return self.launch(last, now: now)
    }

    /// The changes that become necessary in published updates when the privacy zones hide more positions than before.
    struct Hiding: Hashable {
        /// `true` when the update in flight (published and not acknowledged) contained a position that is now hidden.
        /// That update then counts as lost, and the broker's answer to it is ignored.
        var isTakenBack = false
        /// `true` when the last published update contained a position that is now hidden, so that the update must be
        /// replaced.
        var isOutdated = false
    }

    /// Hides positions that may not be shown any more. Each waiting, skipped and published position is replaced by the
    /// result of `shown`, or removed if the result is `nil`. The log still contains the removed positions.
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

    /// Handles that no update was published for the longest allowed time. The newest skipped fix now waits to be
    /// published, if it is newer than the last published position. In any case, the time without updates is counted
    /// anew.
    ///
    /// - Parameter wallClock: The device's clock; `nil` when it is not set. A fix whose time is ahead of this clock is
    ///   not used.
    mutating func endSilence(now: MonotonicTime, wallClock: UnixTime?) {
        self.silentSince = now
        guard self.isIdle, let place = self.newestKeptBack(wallClock: wallClock) else { return }
        self.waiting = self.skipped.remove(at: place)
    }

    /// Prepares the last update before the publisher ends: the newest fix waits to be published, whatever the filter
    /// decided. The other skipped fixes are added to the update.
    ///
    /// A fix whose time is ahead of the device's clock is not used. Exception: if nothing was published before and
    /// every fix is ahead, the newest is used, because the clock may be wrong.
    ///
    /// - Parameter wallClock: The device's clock; `nil` when it is not set.
    mutating func finish(wallClock: UnixTime?) {
        let isUnpublished = self.waiting == nil && self.inFlight == nil && self.last == nil
        let timely = self.skipped.lastIndex { Self.isTimely($0, wallClock) }
        let any = self.skipped.lastIndex { LivePosition.fault(of: $0, at: nil) == nil }
        guard let place = timely ?? (isUnpublished ? any : nil),
            self.skipped[place].seq ?? 0 > self.waiting?.seq ?? 0
        else { return }
        let newest = self.skipped.remove(at: place)
        if let replaced = self.waiting { self.skip(replaced) }
        self.waiting = newest
    }

    /// Returns the index of the newest skipped fix that may be published as the live position: it may be shown live, it
    /// is not ahead of the device's clock, and it is newer than the waiting fix or, if none waits, than the last
    /// published fix. `nil` if there is no such fix.
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

    /// Registers that the broker acknowledged the update in flight.
    ///
    /// - Returns: The numbers of the records that the update contained.
    @discardableResult
    mutating func acknowledged() -> SeqSet {
        defer { self.inFlight = nil }
        self.losses = 0
        self.passengers.taken()
        return self.inFlight?.seqs ?? SeqSet()
    }

    /// The numbers of the records that the update in flight contains.
    var seqsInFlight: SeqSet { self.inFlight?.seqs ?? SeqSet() }

    /// Registers that the oldest `count` skipped fixes were cut off from the update in flight, because the message
    /// would have been too large. They are sent to recorders in batches.
    mutating func leftOut(_ count: Int) {
        guard count > 0 else { return }
        self.inFlight?.skipped.removeFirst(count)
        self.retried = self.inFlight
    }

    /// Stops publishing positions up to and including the given one. All skipped fixes are removed; recorders get them
    /// in batches. A waiting or published position remains only if it is later than the given one.
    ///
    /// - Parameter watermark: The last position that must not be published any more; `nil` for every position so far.
    mutating func forget(through watermark: Location?) {
        self.skipped = []
        if self.waiting?.came(after: watermark) == false { self.waiting = nil }
        if self.last?.location.came(after: watermark) == false { self.last = nil }
        self.last?.skipped = []
        // The broker's answer applies to the whole update in flight.
        if self.retried?.location.came(after: watermark) == false { self.retried = nil }
        self.retried?.skipped = []
    }

    /// Forgets the last published update, unless an update is in flight or a fix waits. The update is then never
    /// repeated, because the position may have been cleared at the broker meanwhile.
    mutating func forgetTaken() { if self.isIdle { self.last = nil } }

    /// Removes the skipped fixes with these record numbers, so that no later update contains them, because they were
    /// sent to recorders in a batch.
    mutating func forget(_ seqs: SeqSet) {
        self.skipped.removeAll { $0.seq.map(seqs.contains) ?? false }
    }

    /// Registers that the update in flight was lost before the broker acknowledged it. Its fix waits again; if a newer
    /// fix waits already, the lost one is skipped.
    mutating func failed() {
        guard self.inFlight != nil else { return }
        if self.retried?.skipped.isEmpty == false {
            self.losses += 1
            // A broker of MQTT 3.1.1 does not report that a message is too large: it closes the connection.
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

    /// Registers that the broker rejected the size or the content of the update in flight. The fix is published again
    /// without skipped fixes. If the update contained none, the fix is not published again, and is only sent to
    /// recorders.
    ///
    /// - Returns: `true` if the fix is published again.
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
        // The place is nearly always the end, so this search is short.
        let place = self.skipped.lastIndex { $0.seq ?? 0 <= fix.seq ?? 0 }.map { $0 + 1 } ?? 0
        self.skipped.insert(fix, at: place)
        // The cut is amortised, because removing elements from the front of an array takes time proportional to its
        // length.
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
    /// Returns `true` if this position is newer than `other`. Positions of the same stream are compared by their
    /// numbers, others by their times. Returns `false` if `other` is `nil`.
    func came(after other: Location?) -> Bool {
        guard let other else { return false }
        guard let seq, let last = other.seq, self.stream == other.stream else { return self.time > other.time }
        return seq > last
    }

    /// Returns `true` if this position is older than `other`. The times are compared, and for equal times the numbers.
    fileprivate func isBefore(_ other: Location) -> Bool {
        (self.time, self.seq ?? 0) < (other.time, other.seq ?? 0)
    }
}

extension LocationUpdate {
    /// The numbers of all records in the update: of its position and of its skipped fixes.
    var seqs: SeqSet {
        var seqs = SeqSet()
        for location in self.skipped + [self.location] { location.seq.map { seqs.insert($0) } }
        return seqs
    }
}
