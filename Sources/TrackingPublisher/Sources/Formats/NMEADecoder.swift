import TrackingCore

/// Merges the sentences of a receiver into fixes: one an epoch, the epoch being told by the time of day.
///
/// An epoch is over when
/// 1. a sentence tells another time of day, or that the receiver knows neither time nor place, always; and for a live receiver, whose next sentence is a second away, also when
/// 2. the sentence comes that closed the last two epochs (and none came after it then), or
/// 3. the line falls quiet after a position.
///
/// What comes late, after 2 or 3, is dropped, and 2 is learned anew. Date: that of the epoch's RMC or ZDA; without one, the
/// day that brings the time of day nearest to the last dated fix, or else to the clock.
struct NMEADecoder: Sendable {
    /// Which of an epoch's sentences: the same kind may come several times.
    private struct Place: Hashable, Sendable {
        var kind: NMEASentence.Kind
        var occurrence: Int
    }

    /// Whether an epoch may be given before the next one begins.
    private let isLive: Bool
    private var epoch: NMEAEpoch?
    private var isGiven = false
    private var occurrences: [NMEASentence.Kind: Int] = [:]
    private var last: Place?
    private var previousLast: Place?
    /// The sentence that closed the last two epochs.
    private var closer: Place?
    /// The last moment whose date the receiver told.
    private var dated: UnixTime?

    /// Makes a decoder for a live receiver, or for a recording.
    init(isLive: Bool) { self.isLive = isLive }

    /// Whether a position waits for its epoch to end.
    var isWaiting: Bool { !self.isGiven && (self.epoch?.hasFix ?? false) }

    /// Takes in one line; `clock` is the time of the device, or of the recording.
    mutating func receive(_ line: NMEALine, clock: UnixTime) -> [SourceEvent] {
        switch line {
        case .sentence(let sentence): self.receive(sentence, clock: clock)
        case .doubted(let sentence, let reason): [.badInput(reason)] + self.receive(sentence, clock: clock)
        case .refused(let reason): [.badInput(reason)]
        case .nothing: []
        }
    }

    /// Takes in one sentence.
    mutating func receive(_ sentence: NMEASentence, clock: UnixTime) -> [SourceEvent] {
        guard let kind = sentence.kind else { return [] }
        var events: [SourceEvent] = []
        if let time = sentence.time, time != self.epoch?.time {
            events += self.give(clock: clock)
            self.begin(NMEAEpoch(time: time))
        } else if sentence.isLost {
            // It is of no epoch, and the one that was open is over.
            events += self.give(clock: clock)
            self.epoch = nil
        }
        // Whatever has no time belongs to the epoch that is open; before the first one it belongs to none.
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

    /// The line has been quiet: a live receiver has told what it had to tell for now.
    mutating func fellQuiet(clock: UnixTime) -> [SourceEvent] { self.isWaiting ? self.give(clock: clock) : [] }

    /// Nothing comes any more.
    mutating func finish(clock: UnixTime) -> [SourceEvent] { self.give(clock: clock) }

    /// Gives the fix of the open epoch, once.
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
