import TrackingCore

/// Merges the sentences of a receiver into fixes, one per epoch. The time of day identifies an epoch.
///
/// An epoch ends when
/// 1. a sentence contains another time of day, or shows that the receiver knows neither time nor position.
///
/// A live receiver sends its next sentence only a second later. For it an epoch also ends when
/// 2. the sentence arrives that ended the last two epochs, unless another one followed it in the previous epoch, or
/// 3. the line falls silent after a position.
///
/// A sentence that arrives later in an epoch ended by rule 2 or 3 is dropped, and rule 2 is learned anew. The date
/// comes from the epoch's RMC or ZDA. Without one, it is the day that puts the time of day nearest to the last dated
/// fix, or else to the clock.
struct NMEADecoder: Sendable {
    /// The position of a sentence within an epoch. The same kind may occur several times.
    private struct Place: Hashable, Sendable {
        var kind: NMEASentence.Kind
        var occurrence: Int
    }

    /// `true` when an epoch may end before the next one begins.
    private let isLive: Bool
    private var epoch: NMEAEpoch?
    private var isGiven = false
    private var occurrences: [NMEASentence.Kind: Int] = [:]
    private var last: Place?
    private var previousLast: Place?
    /// The sentence that ended the last two epochs.
    private var closer: Place?
    /// The last moment with a date from the receiver.
    private var dated: UnixTime?

    /// Creates a decoder for a live receiver, or for a recording.
    init(isLive: Bool) { self.isLive = isLive }

    /// `true` while the open epoch has a position that was not returned yet.
    var isWaiting: Bool { !self.isGiven && (self.epoch?.hasFix ?? false) }

    /// Processes one line. `clock` is the time of the device, or of the recording.
    mutating func receive(_ line: NMEALine, clock: UnixTime) -> [SourceEvent] {
        switch line {
        case .sentence(let sentence): self.receive(sentence, clock: clock)
        case .doubted(let sentence, let reason): [.badInput(reason)] + self.receive(sentence, clock: clock)
        case .refused(let reason): [.badInput(reason)]
        case .nothing: []
        }
    }

    /// Processes one sentence.
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

    /// The line fell silent, so the burst of a live receiver is complete.
    mutating func fellQuiet(clock: UnixTime) -> [SourceEvent] { self.isWaiting ? self.give(clock: clock) : [] }

    /// The input ended.
    mutating func finish(clock: UnixTime) -> [SourceEvent] { self.give(clock: clock) }

    /// Returns the fix of the open epoch, once.
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
