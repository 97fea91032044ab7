import TrackingCore

/// Merges the NMEA sentences of a receiver into fixes, one per epoch. An epoch is a burst of sentences with one time of
/// day.
///
/// An epoch ends at a sentence with another time of day. It also ends at a sentence that shows that the receiver knows
/// neither time nor position. A live receiver sends its next sentence only a second later, so its epoch ends earlier:
///
/// - at the sentence that was the last one of both previous epochs, or
/// - when the line falls silent after a position.
///
/// A later sentence of an epoch that ended early is dropped, and the last sentence is learned anew. The date comes from
/// the sentences RMC or ZDA. Without them, it is the day that puts the time of day nearest to the last dated fix, or
/// else to the clock.
struct NMEADecoder: Sendable {
    /// The identity of a sentence within an epoch: its kind, and a count of the sentences of that kind.
    private struct Place: Hashable, Sendable {
        var kind: NMEASentence.Kind
        var occurrence: Int
    }

    /// `true` for a live receiver, whose fix is returned before the next epoch begins.
    private let isLive: Bool
    private var epoch: NMEAEpoch?
    private var isGiven = false
    private var occurrences: [NMEASentence.Kind: Int] = [:]
    private var last: Place?
    private var previousLast: Place?
    /// The sentence that was the last one of both previous epochs, and so probably ends the present one. `nil` if the
    /// two epochs ended with different sentences, and after a further sentence of the present epoch followed its
    /// supposed end.
    private var closer: Place?
    /// The moment of the last epoch with a date: one from the receiver, or one that continues an earlier date from the
    /// receiver. `nil` until the receiver has sent a date.
    private var dated: UnixTime?

    /// Creates a decoder of NMEA sentences: for a live receiver, or for a recording if `isLive` is `false`.
    init(isLive: Bool) { self.isLive = isLive }

    /// `true` while the present epoch (a burst of sentences with one time of day) has a position that was not returned
    /// as a fix yet.
    var isWaiting: Bool { !self.isGiven && (self.epoch?.hasFix ?? false) }

    /// Processes one line and returns the resulting fixes and reports of bad input.
    ///
    /// - Parameter clock: The time of the device, or of the recording.
    mutating func receive(_ line: NMEALine, clock: UnixTime) -> [SourceEvent] {
        switch line {
        case .sentence(let sentence): self.receive(sentence, clock: clock)
        case .doubted(let sentence, let reason): [.badInput(reason)] + self.receive(sentence, clock: clock)
        case .refused(let reason): [.badInput(reason)]
        case .nothing: []
        }
    }

    /// Processes one sentence, and returns the fix that it completes, if there is one. A sentence with another time of
    /// day ends the present epoch (a burst of sentences with one time of day), and completes the fix of that epoch. The
    /// fix of a live receiver is already complete with the kind of sentence that ended the last two epochs.
    mutating func receive(_ sentence: NMEASentence, clock: UnixTime) -> [SourceEvent] {
        guard let kind = sentence.kind else { return [] }
        var events: [SourceEvent] = []
        if let time = sentence.time, time != self.epoch?.time {
            events += self.give(clock: clock)
            self.begin(NMEAEpoch(time: time))
        } else if sentence.isLost {
            // The sentence belongs to no epoch, and ends the open one.
            events += self.give(clock: clock)
            self.epoch = nil
        }
        // A sentence without a time belongs to the open epoch. Before the first epoch it is ignored.
        guard self.epoch != nil else { return events }
        let place = Place(kind: kind, occurrence: self.occurrences[kind, default: 0] + 1)
        self.occurrences[kind] = place.occurrence
        self.last = place
        if self.isGiven {
            self.closer = nil
        } else {
            self.epoch?.add(sentence)
            if self.isLive, place == self.closer { events += self.give(clock: clock) }
        }
        return events
    }

    /// Handles that no sentence arrived on the line for a moment, which shows that a live receiver has sent all
    /// sentences of the present epoch. Returns the fix of the epoch, if it was not returned yet.
    mutating func fellQuiet(clock: UnixTime) -> [SourceEvent] { self.isWaiting ? self.give(clock: clock) : [] }

    /// Handles the end of the input. Returns the fix of the last epoch, if it has one that was not returned yet.
    mutating func finish(clock: UnixTime) -> [SourceEvent] { self.give(clock: clock) }

    /// Ends the present epoch (a burst of sentences with one time of day) and returns its fix, if it has one. Each
    /// epoch's fix is returned once.
    private mutating func give(clock: UnixTime) -> [SourceEvent] {
        guard let epoch = self.epoch, !self.isGiven else { return [] }
        self.isGiven = true
        let reference = self.dated ?? clock
        let location = epoch.location(nearest: reference)
        if epoch.days != nil || self.dated != nil { self.dated = epoch.moment(nearest: reference) }
        return location.map { [.fix($0)] } ?? []
    }

    private mutating func begin(_ epoch: NMEAEpoch) {
        self.closer = self.last == self.previousLast ? self.last : nil
        self.previousLast = self.last
        self.last = nil
        self.occurrences.removeAll(keepingCapacity: true)
        self.epoch = epoch
        self.isGiven = false
    }
}
