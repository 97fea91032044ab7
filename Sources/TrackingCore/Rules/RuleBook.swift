/// Evaluates the rules about fences, speed, silence, battery and arrival for all trackables, and decides which events
/// they produce. A rule produces one event each time its condition begins to be met. A position that is more than 120 s
/// old when it arrives produces none, and neither do the skipped points in its message.
///
/// All times are of the wall clock, so that saved states remain valid after a restart.
public struct RuleBook: Sendable {
    /// An event that a rule produced.
    public struct Finding: Hashable, Sendable {
        /// The trackable about which the rule produced the event.
        public var trackable: TrackableID
        /// The name of the rule that produced the event.
        public var rule: String
        /// The kind of the event, for example `FENCE_ENTERED`.
        public var kind: TrackingEvent.Kind
        /// The fields of the event's detail, among them the name of the rule.
        public var detail: [String: JSONValue]
        /// The time of the event: the time of the position that caused it, the time at which a stay or a silence was
        /// long enough, or the arrival of the publisher's report about nearness.
        public var time: UnixTime
        /// The last known position of the trackable at the event; `nil` when none is known.
        public var location: Location?
    }

    /// The state of one rule for one trackable, in the form in which the caller saves it.
    public struct Entry: Hashable, Sendable {
        /// The trackable for which the rule has this state.
        public var trackable: TrackableID
        /// The name of the rule that has this state.
        public var rule: String
        /// The rule's last observation of the trackable, with its time, and whether the event was produced.
        public var state: RuleState

        /// Makes the entry in which the caller saves the state of a rule for a trackable: the trackable, the name of
        /// the rule, and the state.
        public init(trackable: TrackableID, rule: String, state: RuleState) {
            self.trackable = trackable
            self.rule = rule
            self.state = state
        }
    }

    /// The age above which a received position is late: 120 s. A late position, and the earlier points in the same
    /// message, describe the past and produce no event.
    public static let maximumLateness: Duration = .seconds(120)

    private var rules: [Rule]
    private let maximumTrackables: Int
    /// The number of known trackables above which those without a message for the longest time are removed. It is
    /// normally `maximumTrackables`. It is higher after a removal that could not remove enough trackables.
    private var limit: Int
    private var states: [TrackableID: [String: RuleState]] = [:]
    private var known: [TrackableID: Known] = [:]
    private var changed: Set<TrackableID> = []
    private var deadlines = MinHeap<Deadline>()
    /// The pairs of a rule and a trackable that have an entry in `deadlines`, the times at which a rule may produce an
    /// event without a message. If such a time moves later, its entry stays. When the old time comes, an entry with the
    /// new time replaces it.
    private var expected: Set<Key> = []

    /// The keys of saved states that are no longer valid. The caller must delete these states from its storage.
    private var dropped: Set<Key> = []

    /// The key of a saved state: one rule and one trackable.
    public struct Key: Hashable, Sendable {
        /// The trackable of the saved state that this key identifies.
        public var trackable: TrackableID
        /// The name of the rule whose saved state this key identifies.
        public var rule: String

        /// Creates the key of the saved state that one rule has for one trackable.
        public init(trackable: TrackableID, rule: String) {
            self.trackable = trackable
            self.rule = rule
        }
    }

    private struct Deadline: Comparable {
        var time: UnixTime
        var key: Key
        static func < (left: Self, right: Self) -> Bool { left.time < right.time }
    }

    /// The last known facts about a trackable. A rule that is new for the trackable begins with them.
    private struct Known {
        /// The time at which the last message of the trackable was received.
        var received: UnixTime
        /// The newest position of the trackable that may be shown as current, even if the position arrived late; `nil`
        /// for none.
        var last: Location?
        /// `true` once a message with a position of the trackable was received; `false` again after its positions were
        /// forgotten.
        var isLocated = false
        /// `true` while the publisher reports the trackable near its destination; `nil` while unknown.
        var isNear: Bool?
    }

    /// The time at which the connection to the broker was lost; `nil` while connected.
    private var disconnectedSince: UnixTime?

    /// Creates an evaluator of the given rules with their saved states. The program received no messages before `now`.
    /// Time before `now` therefore counts neither as silence nor as a stay in a fence.
    ///
    /// - Parameters:
    ///   - rules: The rules. If two rules have the same name, the later one counts.
    ///   - kept: The saved states. States of other rules are ignored.
    ///   - now: The time of the wall clock.
    ///   - maximumTrackables: The maximum number of known trackables. Above it, the trackables without a message for
    ///     the longest time are removed. A trackable that a rule names, or for which a rule waits for a time to pass,
    ///     is not removed.
    public init(_ rules: [Rule], kept: [Entry] = [], now: UnixTime, maximumTrackables: Int = 20_000) {
        (self.maximumTrackables, self.limit) = (maximumTrackables, maximumTrackables)
        self.rules = Dictionary(rules.map { ($0.name, $0) }, uniquingKeysWith: { $1 }).values
            .sorted { $0.name < $1.name }
        for entry in kept {
            guard let rule = self.rules.first(where: { $0.name == entry.rule }), rule.isFor(entry.trackable) else {
                continue
            }
            var state = entry.state
            // The length of the interruption is unknown: at most the time since the saved state.
            state.passedOver(rule.condition, from: state.since ?? now, to: now)
            self.states[entry.trackable, default: [:]][entry.rule] = state
            self.expect(rule, state, of: entry.trackable)
            let since = entry.state.since ?? now
            self.know(entry.trackable, now: max(since, self.known[entry.trackable]?.received ?? since))
        }
        self.begin(self.rules, now: now)
    }

    /// Replaces the rules. A rule with an unchanged condition keeps its states. A changed rule, and a rule that is new
    /// for a trackable, gets its first state from the last known position of the trackable. This produces no event.
    public mutating func replace(_ rules: [Rule], now: UnixTime) {
        let former = Dictionary(self.rules.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        let latter = Dictionary(rules.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        for (id, states) in self.states {
            self.states[id] = states.filter { name, _ in
                let isKept =
                    former[name]?.condition == latter[name]?.condition && latter[name]?.isFor(id) == true
                if !isKept { self.dropped.insert(Key(trackable: id, rule: name)) }
                return isKept
            }
        }
        self.rules = latter.values.sorted { $0.name < $1.name }
        self.expectAnew()
        self.begin(self.rules.filter { former[$0.name] != $0 }, now: now)
    }

    private mutating func begin(_ rules: [Rule], now: UnixTime) {
        for rule in rules {
            for id in rule.trackables ?? Set(self.known.keys) { self.begin(rule, of: id, now: now) }
        }
    }

    /// Gives a rule its first state for a trackable, from the last known facts about the trackable. A state that the
    /// rule already has for the trackable remains.
    private mutating func begin(_ rule: Rule, of id: TrackableID, now: UnixTime) {
        guard self.states[id]?[rule.name] == nil, rule.isFor(id) else { return }
        let known = self.known[id] ?? Known(received: now)
        let isExpected = known.isLocated || rule.trackables != nil
        let state = RuleState(
            beginning: rule.condition, at: known.last, isNear: known.isNear, isExpected: isExpected, now: now)
        self.keep(state, rule, of: id)
    }

    /// The earliest time at which a rule may produce an event without a message. The caller calls ``timerFired(now:)``
    /// then. `nil` when there is no such time or no connection to the broker.
    public var nextDeadline: UnixTime? { self.disconnectedSince == nil ? self.deadlines.min?.time : nil }

    /// Returns the states that the caller must save. These are the states of all rules for each trackable for which the
    /// state of any rule has changed since the last call.
    public mutating func takeChanges() -> [Entry] {
        defer { self.changed = [] }
        return self.changed.flatMap { id in
            (self.states[id] ?? [:]).map { Entry(trackable: id, rule: $0.key, state: $0.value) }
        }
    }

    /// Returns the keys of the saved states that became invalid since the last call. The caller deletes these states
    /// from its storage.
    public mutating func takeDropped() -> Set<Key> {
        defer { self.dropped = [] }
        return self.dropped.filter { self.states[$0.trackable]?[$0.rule] == nil }
    }

    /// Handles the loss of the connection to the broker, without which no message can be received. Until
    /// ``connected(now:)``, the passing of time makes no rule produce an event.
    public mutating func connectionLost(now: UnixTime) { self.disconnectedSince = self.disconnectedSince ?? now }

    /// Handles a reconnection to the broker. Silence is measured anew from `now`. The time without a connection does
    /// not count as a stay in a fence.
    public mutating func connected(now: UnixTime) {
        guard let start = self.disconnectedSince.take() else { return }
        for id in self.states.keys {
            for rule in self.rules {
                self.states[id]?[rule.name]?.passedOver(rule.condition, from: start, to: now)
            }
        }
    }

    /// Begins the measurement of silence anew at `now`, after the device's wall clock was set.
    public mutating func clockStepped(now: UnixTime) {
        for id in self.states.keys {
            for rule in self.rules {
                guard case .silent = rule.condition else { continue }
                self.states[id]?[rule.name]?.passedOver(rule.condition, from: now, to: now)
            }
        }
        self.expectAnew()
    }

    private mutating func expectAnew() {
        self.deadlines = MinHeap()
        self.expected = []
        for (id, states) in self.states {
            for rule in self.rules { states[rule.name].map { self.expect(rule, $0, of: id) } }
        }
    }

    /// Handles that a newly published message with a position of a trackable was received, not the broker's retained
    /// copy. The trackable is therefore not silent, even if the position in the message is old.
    public mutating func received(_ id: TrackableID, now: UnixTime) {
        self.know(id, now: now)
        self.known[id]?.isLocated = true
        _ = self.examine(id, at: now) { state, rule in
            if case .silent = rule.condition { state.received(at: now) }
            return false
        }
    }

    /// Evaluates a received position against all rules. A predicted or implausible position, and one not newer than the
    /// last, is ignored. If `fix` is more than 120 s old, neither `fix` nor the skipped points produce an event. They
    /// only become the last known position, give a first state to rules that have none, and end a stay in a fence when
    /// they are outside.
    ///
    /// - Parameters:
    ///   - id: The trackable.
    ///   - fix: The position.
    ///   - skipped: The points between the previous update and `fix`, in order of time.
    ///   - now: The time of the wall clock.
    /// - Returns: The events that the rules produce, in order.
    public mutating func moved(
        _ id: TrackableID, _ fix: Location, passing skipped: [Location] = [], now: UnixTime
    ) -> [Finding] {
        let isLate = fix.time < now.advanced(by: .zero - Self.maximumLateness)
        return (skipped + [fix]).flatMap { self.moved(id, to: $0, isLate: isLate, now: now) }
    }

    private mutating func moved(_ id: TrackableID, to fix: Location, isLate: Bool, now: UnixTime) -> [Finding] {
        guard fix.source != .predicted, LivePosition.fault(of: fix, at: now) == nil else { return [] }
        if let last = self.known[id]?.last, fix.time <= last.time { return [] }
        self.know(id, now: now)
        self.known[id]?.last = fix
        self.known[id]?.isLocated = true
        guard !isLate else {
            for rule in self.rules { self.begin(rule, of: id, now: now) }
            return self.examine(id, at: fix.time) { state, rule in state.movedLate(rule.condition, fix) }
        }
        return self.examine(id, at: fix.time) { state, rule in state.moved(rule.condition, fix, at: now) }
    }

    /// Handles the publisher's report that its trackable is near its destination or not; `nil` when that is unknown.
    ///
    /// - Returns: The events that the rules produce.
    public mutating func came(near isNear: Bool?, _ id: TrackableID, now: UnixTime) -> [Finding] {
        self.know(id, now: now)
        self.known[id]?.isNear = isNear
        guard let isNear else { return [] }
        return self.examine(id, at: now) { state, rule in
            rule.condition == .arrived && state.came(near: isNear, at: now)
        }
    }

    /// Forgets the positions of a trackable, after its retained position at the broker was cleared. Every rule begins
    /// again for the trackable.
    public mutating func forget(_ id: TrackableID, now: UnixTime) {
        self.known[id]?.last = nil
        self.known[id]?.isLocated = false
        for name in (self.states.removeValue(forKey: id) ?? [:]).keys {
            self.dropped.insert(Key(trackable: id, rule: name))
        }
        for rule in self.rules { self.begin(rule, of: id, now: now) }
    }

    private mutating func know(_ id: TrackableID, now: UnixTime) {
        self.known[id, default: Known(received: now)].received = now
        if self.known.count > self.limit { self.removeIdle(except: id) }
    }

    /// Removes trackables from memory until seven eighths of the maximum number remain. Those without a message for the
    /// longest time are removed first. Three kinds are never removed: the trackable `last`, a trackable that a rule
    /// names, and a trackable for which a rule waits for a time to pass. Removing many at once keeps the average cost
    /// of a message constant.
    private mutating func removeIdle(except last: TrackableID) {
        let named = Set(self.rules.compactMap(\.trackables).joined())
        let idle = self.known.filter { id, _ in id != last && !named.contains(id) && !self.isPending(id) }
        let surplus = self.known.count - self.maximumTrackables * 7 / 8
        for (id, _) in idle.sorted(by: { $0.value.received < $1.value.received }).prefix(surplus) {
            self.known[id] = nil
            self.changed.remove(id)
            for name in (self.states.removeValue(forKey: id) ?? [:]).keys {
                self.dropped.insert(Key(trackable: id, rule: name))
            }
        }
        self.limit = max(self.maximumTrackables, self.known.count + self.maximumTrackables / 8)
    }

    /// Returns `true` when a rule about silence or about a stay in a fence would produce an event for this trackable
    /// later, without a further message.
    private func isPending(_ id: TrackableID) -> Bool {
        guard let states = self.states[id] else { return false }
        return self.rules.contains { states[$0.name]?.deadline($0.condition) != nil }
    }

    /// Evaluates the rules whose waiting time has passed: a stay in a fence, or silence.
    ///
    /// - Returns: The events that the rules produce, in order of time.
    public mutating func timerFired(now: UnixTime) -> [Finding] {
        guard self.disconnectedSince == nil else { return [] }
        var findings: [Finding] = []
        while let deadline = self.deadlines.min, deadline.time <= now {
            _ = self.deadlines.popMin()
            self.expected.remove(deadline.key)
            let (id, name) = (deadline.key.trackable, deadline.key.rule)
            guard let rule = self.rules.first(where: { $0.name == name }), var state = self.states[id]?[name] else {
                continue
            }
            guard state.deadline(rule.condition) == deadline.time else {
                self.expect(rule, state, of: id)
                continue
            }
            state.deadlinePassed()
            self.states[id]?[name] = state
            self.changed.insert(id)
            findings.append(self.finding(rule, of: id, at: deadline.time))
        }
        return findings
    }

    private mutating func examine(
        _ id: TrackableID, at time: UnixTime, _ evaluate: (inout RuleState, Rule) -> Bool
    ) -> [Finding] {
        var findings: [Finding] = []
        for rule in self.rules where rule.isFor(id) {
            let former = self.states[id]?[rule.name]
            var state = former ?? RuleState()
            if evaluate(&state, rule) { findings.append(self.finding(rule, of: id, at: time)) }
            if state != former { self.keep(state, rule, of: id) }
        }
        return findings
    }

    private mutating func keep(_ state: RuleState, _ rule: Rule, of id: TrackableID) {
        guard state != RuleState() else { return }
        self.states[id, default: [:]][rule.name] = state
        self.changed.insert(id)
        self.expect(rule, state, of: id)
    }

    private mutating func expect(_ rule: Rule, _ state: RuleState, of id: TrackableID) {
        let key = Key(trackable: id, rule: rule.name)
        guard let time = state.deadline(rule.condition), self.expected.insert(key).inserted else { return }
        self.deadlines.push(Deadline(time: time, key: key))
    }

    private func finding(_ rule: Rule, of id: TrackableID, at time: UnixTime) -> Finding {
        var detail = rule.condition.detail
        detail["rule"] = .text(rule.name)
        let last = self.known[id]?.last
        if case .speed = rule.condition, let speed = last?.speed { detail["speed"] = .number(speed) }
        if case .lowBattery = rule.condition, let level = last?.batteryLevel {
            detail["percent"] = .number(LowBatteryDetector.rounded(level * 100))
        }
        return Finding(
            trackable: id, rule: rule.name, kind: rule.condition.kind, detail: detail, time: time, location: last)
    }
}
