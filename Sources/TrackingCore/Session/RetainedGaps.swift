/// Decides for which trackables a client asks the broker again for their retained messages, because the first ones did
/// not arrive. A broker drops retained messages without a report when its queue for the client is full.
///
/// The client asks by subscribing to the topics of each of these trackables by name. It does so in rounds of at most
/// ``roundSize`` trackables. On one connection, the client asks for a trackable up to three times: 250 ms after a
/// message is known to be missing or later, 5 s after that round, and 60 s after the second round. Then it gives up,
/// because the trackable may have no retained message.
///
/// | step | method |
/// |---|---|
/// | a message shows that another one of its trackable is missing | ``missing(_:_:now:)`` |
/// | the missing message arrived | ``arrived(_:_:now:)`` |
/// | ``nextDeadline`` | ``timerFired(now:)``; the client subscribes and unsubscribes |
/// | the connection was lost | ``disconnected()`` |
package struct RetainedGaps: Sendable {
    /// A set of kinds of retained messages that can be missing for a trackable: its position, its state (the
    /// publisher's presence and the resolution in force), or both.
    package struct Kind: OptionSet, Hashable, Sendable {
        /// The set of kinds of retained messages that can be missing, as a number. Bit 0 is the position, bit 1 the
        /// state.
        package let rawValue: UInt8

        /// Makes a set of kinds of retained messages from its bits.
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The retained message with the position of a trackable.
        package static let position = Kind(rawValue: 1)
        /// The retained messages with the presence of a trackable's publisher and with the trackable's resolution in
        /// force.
        package static let state = Kind(rawValue: 2)
    }

    /// One round of asking the broker for retained messages: the trackables whose topics the client subscribes to now,
    /// and those whose topics it unsubscribes from.
    package struct Round: Hashable, Sendable {
        /// The trackables for which the client asks in this round: it subscribes to the topics of each, so that the
        /// broker sends their retained messages again.
        package var asked: [TrackableID] = []
        /// The trackables that the client asked for in the previous round. The client now unsubscribes from their
        /// topics.
        package var ended: [TrackableID] = []
    }

    private struct Gap: Sendable {
        var kinds: Kind
        var tries = 0
    }

    private struct Later: Sendable {
        let ids: [TrackableID]
        let due: MonotonicTime
    }

    private struct Running: Sendable {
        let asked: [TrackableID]
        var left: Set<TrackableID>
        var end: MonotonicTime
        /// The number of SUBSCRIBE packets of the round that the broker has not answered.
        var unanswered = 0
    }

    /// The largest number of trackables for which the client asks the broker again in one round. A trackable has up to
    /// four retained messages, so a round causes at most as many messages as ``SubscriptionSlices/size`` allows.
    package static let roundSize = 200
    /// The largest number of trackables with missing retained messages that are remembered.
    package static let limit = 100_000
    /// The time from the first known missing message to the first round of asking: 250 ms. The message may still arrive
    /// in this time.
    package static let patience = Duration.milliseconds(250)
    /// The time after which a round of asking ends if none of the missing messages arrives: 500 ms. Each missing
    /// message that arrives starts this time again.
    package static let roundTime = Duration.milliseconds(500)
    /// The longest time that a round waits for the broker's answers to its SUBSCRIBE packets: 10 s. In a round, the
    /// client asks the broker again for missing retained messages.
    package static let answerTime = Duration.seconds(10)
    /// The waits after the first and after the second round that asked for a trackable in vain, before the client asks
    /// for that trackable again: 5 s and 60 s.
    package static let waits: [Duration] = [.seconds(5), .seconds(60)]

    private var gaps: [TrackableID: Gap] = [:]
    private var fresh: [TrackableID] = []
    private var freshAt: MonotonicTime?
    private var later: [Later] = []
    private var running: Running?
    /// `true` once a message arrived on this connection because the client asked for it. It proves that the broker
    /// dropped retained messages, so others that the client cannot know of may be missing too.
    package private(set) var provesDrops = false

    /// Makes a state in which no retained messages are known to be missing.
    package init() {}

    /// `true` while no retained messages are known to be missing.
    package var isEmpty: Bool { self.gaps.isEmpty }

    /// `true` while the client is asking the broker for the position of a trackable, or will ask for one in the next
    /// round. Trackables that wait 5 s or 60 s before the client asks for them again do not count.
    package var isAskingForPositions: Bool {
        let asked = self.running.map(\.left) ?? []
        return (asked + self.fresh).contains { self.gaps[$0]?.kinds.contains(.position) == true }
    }

    /// The time at which the caller must call ``timerFired(now:)``; `nil` while no round of asking the broker runs or
    /// is scheduled.
    package var nextDeadline: MonotonicTime? {
        if let running = self.running { return running.end }
        return .earlier(self.fresh.isEmpty ? nil : self.freshAt, self.later.lazy.map(\.due).min())
    }

    /// Stores that retained messages of these kinds are missing for a trackable, so that a later round asks for them. A
    /// trackable that already has missing messages keeps its place in the rounds. Beyond ``limit`` trackables, nothing
    /// is stored.
    package mutating func missing(_ id: TrackableID, _ kinds: Kind, now: MonotonicTime) {
        guard self.gaps[id] == nil else {
            self.gaps[id]?.kinds.formUnion(kinds)
            return
        }
        guard self.gaps.count < Self.limit else { return }
        self.gaps[id] = Gap(kinds: kinds)
        if self.fresh.isEmpty { self.freshAt = now.advanced(by: Self.patience) }
        self.fresh.append(id)
    }

    /// Handles that retained messages of these kinds arrived for a trackable: they are no longer missing. If one of
    /// them was missing, its arrival proves that the broker dropped messages. The running round of asking the broker
    /// again ends at `now` if no trackable of the round misses a message any more.
    package mutating func arrived(_ id: TrackableID, _ kinds: Kind, now: MonotonicTime) {
        if self.isNoLongerMissing(id, kinds, now: now) { self.provesDrops = true }
    }

    /// Handles that the retained position of a trackable was cleared, so that its position is no longer missing. Unlike
    /// the arrival of a missing message, this is no proof that the broker dropped a message.
    package mutating func cleared(_ id: TrackableID, now: MonotonicTime) {
        _ = self.isNoLongerMissing(id, .position, now: now)
    }

    /// Marks retained messages of a trackable as no longer missing. Returns `true` if at least one of them was missing,
    /// and the running round of asking the broker had asked for the trackable.
    private mutating func isNoLongerMissing(_ id: TrackableID, _ kinds: Kind, now: MonotonicTime) -> Bool {
        guard !self.gaps.isEmpty, var gap = self.gaps[id], !gap.kinds.isDisjoint(with: kinds) else { return false }
        gap.kinds.subtract(kinds)
        self.gaps[id] = gap.kinds.isEmpty ? nil : gap
        guard var running = self.running.take() else { return false }
        let isAsked = running.left.contains(id)
        if gap.kinds.isEmpty { running.left.remove(id) }
        // On a slow connection, the others of the round are still to come.
        if isAsked, running.left.isEmpty {
            running.end = now
        } else if isAsked, running.unanswered == 0 {
            running.end = now.advanced(by: Self.roundTime)
        }
        self.running = running
        return isAsked
    }

    /// Handles that the client sent the running round in this number of SUBSCRIBE packets. The round then waits for the
    /// broker's answers, at most 10 s. It ends 500 ms after the last answer or message, or at once when all its
    /// messages have arrived.
    package mutating func sent(packets: Int, now: MonotonicTime) {
        guard packets > 0, self.running != nil else { return }
        self.running?.unanswered = packets
        self.running?.end = now.advanced(by: Self.answerTime)
    }

    /// Handles that the broker answered a SUBSCRIBE packet of the running round.
    package mutating func answered(now: MonotonicTime) {
        guard let unanswered = self.running?.unanswered, unanswered > 0 else { return }
        self.running?.unanswered = unanswered - 1
        if unanswered == 1 { self.running?.end = now.advanced(by: Self.roundTime) }
    }

    /// Forgets the missing messages of a trackable that the client no longer follows.
    package mutating func forget(_ id: TrackableID) { self.gaps[id] = nil }

    /// Postpones the next round of asking until ``patience`` after `now`, because retained messages of the client's
    /// first subscriptions may still arrive.
    package mutating func postpone(now: MonotonicTime) {
        if !self.fresh.isEmpty { self.freshAt = now.advanced(by: Self.patience) }
    }

    /// Handles that the connection was lost: forgets all missing messages, because the client subscribes anew on the
    /// next connection, and the broker then sends all retained messages again.
    package mutating func disconnected() { self = RetainedGaps() }

    /// Ends the running round if all its messages have arrived or its time is over, and begins the next round. Has no
    /// effect before ``nextDeadline``.
    ///
    /// - Returns: The trackables whose topics the client subscribes to and unsubscribes from; `nil` if there is nothing
    ///   to do.
    package mutating func timerFired(now: MonotonicTime) -> Round? {
        guard let deadline = self.nextDeadline, deadline <= now else { return nil }
        let ended = self.endRound(now: now)
        for batch in self.later where batch.due <= now { self.fresh += batch.ids }
        self.later.removeAll { $0.due <= now }
        let asked = self.takeFresh()
        if !asked.isEmpty {
            self.running = Running(asked: asked, left: Set(asked), end: now.advanced(by: Self.roundTime))
        }
        self.freshAt = now
        return ended.isEmpty && asked.isEmpty ? nil : Round(asked: asked, ended: ended)
    }

    private mutating func endRound(now: MonotonicTime) -> [TrackableID] {
        guard let running = self.running.take() else { return [] }
        let left = Dictionary(grouping: running.left) { self.gaps[$0]?.tries ?? 0 }
        for (tries, ids) in left where tries > 0 && tries <= Self.waits.count {
            self.later.append(Later(ids: ids.sorted(), due: now.advanced(by: Self.waits[tries - 1])))
        }
        return running.asked
    }

    private mutating func takeFresh() -> [TrackableID] {
        var asked: [TrackableID] = []
        var taken = 0
        for id in self.fresh {
            guard asked.count < Self.roundSize else { break }
            taken += 1
            guard self.gaps[id] != nil else { continue }
            self.gaps[id]?.tries += 1
            asked.append(id)
        }
        self.fresh.removeFirst(taken)
        return asked
    }
}
