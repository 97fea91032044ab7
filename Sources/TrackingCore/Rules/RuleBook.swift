/// Evaluates the rules (fences, speed, silence, battery, arrival) for all trackables, and decides which events they
/// produce: one event for each crossing, none from a late point. It reads no clock and writes no log.
///
/// All times are of the wall clock, like the times of fixes, so that saved states remain valid after a restart.
public struct RuleBook: Sendable {
    /// An event that a rule produced.
    public struct Finding: Hashable, Sendable {
        /// The trackable of the event.
        public var trackable: TrackableID
        /// The name of the rule.
        public var rule: String
        /// The kind of the event.
        public var kind: TrackingEvent.Kind
        /// The event's detail members, among them the rule's name.
        public var detail: [String: JSONValue]
        /// The time of the event.
        public var time: UnixTime
        /// The last known position of the trackable at the event; `nil` when none is known.
        public var location: Location?
    }

    /// The state of a rule for one trackable, to be saved.
    public struct Entry: Hashable, Sendable {
        /// The trackable.
        public var trackable: TrackableID
        /// The name of the rule.
        public var rule: String
        /// The state of the rule for the trackable.
        public var state: RuleState

        /// Creates an entry.
        public init(trackable: TrackableID, rule: String, state: RuleState) {
            self.trackable = trackable
            self.rule = rule
            self.state = state
        }
    }

    /// The age from which a received fix is late: 120 s. A late fix and the points that the publisher skipped before it
    /// describe the past and produce no event.
    public static let maximumLateness: Duration = .seconds(120)

    private var rules: [Rule]
    private let maximumTrackables: Int
    /// The number of known trackables that must be exceeded before those without a message for the longest time are
    /// removed. It is above `maximumTrackables` if few trackables could be removed the last time.
    private var limit: Int
    private var states: [TrackableID: [String: RuleState]] = [:]
    private var known: [TrackableID: Known] = [:]
    private var changed: Set<TrackableID> = []
    private var deadlines = MinHeap<Deadline>()
    /// The pairs of rule and trackable that have an entry in ``deadlines``. When a deadline moves to a later time, its
    /// entry remains and is examined at the earlier time.
    private var expected: Set<Key> = []

    /// The keys of saved states that the caller must remove from its storage.
    private var dropped: Set<Key> = []

    /// The identity of a state: one rule for one trackable.
    public struct Key: Hashable, Sendable {
        /// The trackable.
        public var trackable: TrackableID
        /// The name of the rule.
        public var rule: String

        /// Creates a key.
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

    /// The last known facts about a trackable, with which a new rule begins.
    private struct Known {
        /// The time at which the last message was received.
        var received: UnixTime
        /// The newest valid position, however old it was when it was received.
        var last: Location?
        /// `true` once a position was received.
        var isLocated = false
        /// `true` while the publisher reports the trackable near its destination; `nil` while unknown.
        var isNear: Bool?
    }

    /// The time at which the connection to the broker was lost; `nil` while connected.
    private var disconnectedSince: UnixTime?

    /// Creates a book of rules with saved states. Silence and dwelling before `now` do not count, because the program
    /// received no messages before.
    ///
    /// - Parameters:
    ///   - rules: The rules; the later of two rules with one name counts.
    ///   - kept: The saved states. States of other rules are ignored.
    ///   - now: The time of the wall clock.
    ///   - maximumTrackables: The most known trackables. Beyond it the trackables without a message for the longest
    ///     time are removed, except those that a rule names or that have a deadline. The default is twice the number of
    ///     trackables that a subscriber watches at once.
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

    /// Replaces the rules. A rule with the same condition keeps its states; a changed rule, or a rule for a new
    /// trackable, begins with the last known position, which is no crossing.
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

    /// Gives a rule its first state for a trackable, from the last known facts, unless the rule has a state for the
    /// trackable already.
    private mutating func begin(_ rule: Rule, of id: TrackableID, now: UnixTime) {
        guard self.states[id]?[rule.name] == nil, rule.isFor(id) else { return }
        let known = self.known[id] ?? Known(received: now)
        let isExpected = known.isLocated || rule.trackables != nil
        let state = RuleState(
            beginning: rule.condition, at: known.last, isNear: known.isNear, isExpected: isExpected, now: now)
        self.keep(state, rule, of: id)
    }

    /// The time of the earliest deadline of all rules, at which ``timerFired(now:)`` is to be called; `nil` when there
    /// is no deadline or no connection to the broker.
    public var nextDeadline: UnixTime? { self.disconnectedSince == nil ? self.deadlines.min?.time : nil }

    /// Returns the states of rules that changed since the last call, to be saved.
    public mutating func takeChanges() -> [Entry] {
        defer { self.changed = [] }
        return self.changed.flatMap { id in
            (self.states[id] ?? [:]).map { Entry(trackable: id, rule: $0.key, state: $0.value) }
        }
    }

    /// Returns the keys of saved states to remove that were dropped since the last call.
    public mutating func takeDropped() -> Set<Key> {
        defer { self.dropped = [] }
        return self.dropped.filter { self.states[$0.trackable]?[$0.rule] == nil }
    }

    /// Suspends the deadlines of all rules until ``connected(now:)``, because no message can be received without a
    /// connection to the broker.
    public mutating func connectionLost(now: UnixTime) { self.disconnectedSince = self.disconnectedSince ?? now }

    /// Resumes the deadlines of all rules after a reconnect. Silence is measured from `now`, and the time without a
    /// connection does not count as dwelling.
    public mutating func connected(now: UnixTime) {
        guard let start = self.disconnectedSince.take() else { return }
        for id in self.states.keys {
            for rule in self.rules {
                self.states[id]?[rule.name]?.passedOver(rule.condition, from: start, to: now)
            }
        }
    }

    /// Restarts the measurement of silence after the wall clock was set.
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

    /// Registers a message of a trackable, however old its content: the trackable is not silent.
    public mutating func received(_ id: TrackableID, now: UnixTime) {
        self.know(id, now: now)
        self.known[id]?.isLocated = true
        _ = self.examine(id, at: now) { state, rule in
            if case .silent = rule.condition { state.received(at: now) }
            return false
        }
    }

    /// Evaluates a received position. A late position produces no event; it is the beginning for rules without a state,
    /// and ends dwelling when it is outside of the fence.
    ///
    /// - Parameters:
    ///   - id: The trackable.
    ///   - fix: The position.
    ///   - skipped: The points since the last update, in order and before `fix`.
    ///   - now: The time of the wall clock.
    /// - Returns: The events of the rules, in order.
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

    /// Evaluates the publisher's report whether its trackable is near its destination; `nil` while that is unknown.
    ///
    /// - Returns: The events of the rules.
    public mutating func came(near isNear: Bool?, _ id: TrackableID, now: UnixTime) -> [Finding] {
        self.know(id, now: now)
        self.known[id]?.isNear = isNear
        guard let isNear else { return [] }
        return self.examine(id, at: now) { state, rule in
            rule.condition == .arrived && state.came(near: isNear, at: now)
        }
    }

    /// Forgets the positions of a trackable after they were cleared. Every rule begins again for the trackable.
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

    /// Removes the trackables without a message for the longest time until seven eighths of the permitted number
    /// remain. Trackables that a rule names or that have a deadline are not removed. Removing many at once keeps the
    /// average cost of a message constant.
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

    /// Returns `true` when a rule has a deadline for the trackable.
    private func isPending(_ id: TrackableID) -> Bool {
        guard let states = self.states[id] else { return false }
        return self.rules.contains { states[$0.name]?.deadline($0.condition) != nil }
    }

    /// Evaluates the deadlines that have passed.
    ///
    /// - Returns: The events of the rules, in order of time.
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
