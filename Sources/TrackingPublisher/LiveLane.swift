import TrackingCore

/// Decides which update is sent next on one lane of one trackable. At most one update is in flight. The newest fix
/// that passed the filter waits behind it, and skipped fixes are added to the next update.
struct LiveLane: Sendable {
    /// The filter that selects the fixes to send.
    var filter: LocationFilter
    /// The last update that was sent. It is published again when there is no other update.
    private(set) var last: LocationUpdate?
    /// The fixes without an update of their own, in order of capture.
    private var skipped: [Location] = []
    private var inFlight: LocationUpdate?
    /// The part of the update in flight that is sent again when the update is lost.
    private var retried: LocationUpdate?
    private var waiting: Location?
    /// The moment at which silence began.
    private var silentSince: MonotonicTime?
    /// The limit of skipped fixes per update. Fixes above it remain in the log and are sent on the recording lane.
    private var passengers = SendLimit(maximum: LocationUpdate.maximumSkipped)
    /// The number of consecutive updates with skipped fixes that were lost.
    private var losses = 0

    init(filter: LocationFilter) {
        self.filter = filter
    }

    /// `true` while no update is in flight or waits.
    var isIdle: Bool { self.inFlight == nil && self.waiting == nil }

    /// `true` while a position waits to be sent.
    var isWaiting: Bool { self.waiting != nil }

    /// The moment at which an update must be sent even if the trackable does not move; `nil` when there is none.
    ///
    /// - Parameter isHolding: `true` while waiting updates are held back.
    func silenceDeadline(isHolding: Bool) -> MonotonicTime? {
        let silence = self.filter.effectiveMaximumSilence
        guard silence > .zero, let silentSince = self.silentSince, isHolding ? self.inFlight == nil : self.isIdle
        else { return nil }
        return silentSince.advanced(by: silence)
    }

    /// Processes a captured fix, which is sent, waits or is skipped.
    ///
    /// - Parameter isAsked: `true` for a requested fix, which is sent whatever its time and distance.
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

    /// Returns the update to publish now; `nil` while one is in flight, or when no waiting fix is in the log.
    ///
    /// - Parameter written: The highest number of the records in the log.
    mutating func next(written: UInt64 = .max, now: MonotonicTime) -> LocationUpdate? {
        guard self.inFlight == nil, let location = self.waiting, location.seq ?? 0 <= written else { return nil }
        self.waiting = nil
        let update = LocationUpdate(location: location, skipped: self.takeSkipped(before: location))
        self.filter.sent(location, now: now)
        return self.launch(update, now: now)
    }

    /// Returns the last update unchanged, for new subscribers and for the end of a silence.
    mutating func again(now: MonotonicTime) -> LocationUpdate? {
        guard self.isIdle, let last = self.last else { return nil }
        self.filter.repeated(now: now)
        return self.launch(last, now: now)
    }

    /// Returns the last update, which replaces one that may not be shown any more, before any waiting update.
    mutating func replaced(now: MonotonicTime) -> LocationUpdate? {
        guard self.inFlight == nil, let last = self.last else { return nil }
        if self.waiting?.seq == last.location.seq { self.waiting = nil }
        return self.launch(last, now: now)
    }

    /// The effect of hiding positions.
    struct Hiding: Hashable {
        /// `true` when the update in flight counts as lost; its answer is ignored.
        var isTakenBack = false
        /// `true` when the last update contains a position that may not be shown any more.
        var isOutdated = false
    }

    /// Replaces each stored position by the result of `shown`; `nil` removes it. The log still contains the removed
    /// positions.
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

    /// Ends a silence that has lasted too long: the newest skipped fix is sent. If there is none, as after a
    /// rejection of the last update, the silence begins anew.
    ///
    /// - Parameter wallClock: The device's clock; `nil` when it is not set. A fix ahead of it is never a live update.
    mutating func endSilence(now: MonotonicTime, wallClock: UnixTime?) {
        self.silentSince = now
        guard self.isIdle, let place = self.newestKeptBack(wallClock: wallClock) else { return }
        self.waiting = self.skipped.remove(at: place)
    }

    /// Sends the last fix, whatever the filter decided, because no more fixes follow. The skipped fixes are added to
    /// it.
    ///
    /// A fix ahead of the clock is not sent, unless nothing was sent before and every fix is ahead. The clock may be
    /// wrong then.
    ///
    /// - Parameter wallClock: See ``endSilence(now:wallClock:)``.
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

    /// Returns the newest skipped fix that is not ahead of the clock, unless a waiting or sent fix is newer.
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

    /// The broker acknowledged the update in flight.
    ///
    /// - Returns: The records in the update.
    @discardableResult
    mutating func acknowledged() -> SeqSet {
        defer { self.inFlight = nil }
        self.losses = 0
        self.passengers.taken()
        return self.inFlight?.seqs ?? SeqSet()
    }

    /// The numbers of the records in flight.
    var seqsInFlight: SeqSet { self.inFlight?.seqs ?? SeqSet() }

    /// The update in flight was too small for its oldest skipped fixes, which the recording lane sends.
    mutating func leftOut(_ count: Int) {
        guard count > 0 else { return }
        self.inFlight?.skipped.removeFirst(count)
        self.retried = self.inFlight
    }

    /// Suppresses positions up to and including the given one. Skipped fixes are removed, and the recording lane
    /// sends them. A later position remains.
    mutating func forget(through watermark: Location?) {
        self.skipped = []
        if self.waiting?.came(after: watermark) == false { self.waiting = nil }
        if self.last?.location.came(after: watermark) == false { self.last = nil }
        self.last?.skipped = []
        // The broker's answer applies to the whole update in flight.
        if self.retried?.location.came(after: watermark) == false { self.retried = nil }
        self.retried?.skipped = []
    }

    /// Removes the acknowledged update, which may have been cleared since, so that it is not repeated.
    mutating func forgetTaken() { if self.isIdle { self.last = nil } }

    /// Removes skipped fixes that the recording lane has sent.
    mutating func forget(_ seqs: SeqSet) {
        self.skipped.removeAll { $0.seq.map(seqs.contains) ?? false }
    }

    /// The update in flight was lost. Its fix waits again, or is skipped if a newer one waits already.
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

    /// The broker rejected the size or the content of the update in flight. The fix is sent again without skipped
    /// ones. If it had none, it is left to the recording lane.
    ///
    /// - Returns: `true` when the fix is sent again.
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
    /// Returns `true` when this position came after another one, by their numbers within a stream, otherwise by their
    /// times. Returns `false` when there is no other one.
    func came(after other: Location?) -> Bool {
        guard let other else { return false }
        guard let seq, let last = other.seq, self.stream == other.stream else { return self.time > other.time }
        return seq > last
    }

    /// Returns `true` when `other` is newer, by its time, and for equal times by its number.
    fileprivate func isBefore(_ other: Location) -> Bool {
        (self.time, self.seq ?? 0) < (other.time, other.seq ?? 0)
    }
}

extension LocationUpdate {
    /// The numbers of the records in the update.
    var seqs: SeqSet {
        var seqs = SeqSet()
        for location in self.skipped + [self.location] { location.seq.map { seqs.insert($0) } }
        return seqs
    }
}
