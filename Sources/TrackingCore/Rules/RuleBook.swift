/// Decides what operators are told of: one event a crossing, never from a late point. Touches no clock and no log.
///
/// Time is that of the wall clock, as fixes tell theirs, so that what is kept holds over restarts.
public struct RuleBook: Sendable {
    /// Something to tell.
    public struct Finding: Hashable, Sendable {
        /// Of which trackable.
        public var trackable: TrackableID
        /// Which rule, by name.
        public var rule: String
        /// What happened.
        public var kind: TrackingEvent.Kind
        /// What there is to say about it; the rule's name among it.
        public var detail: [String: JSONValue]
        /// When.
        public var time: UnixTime
        /// Where, where known.
        public var location: Location?
    }

    /// How a rule stands for one trackable, to be kept.
    public struct Entry: Hashable, Sendable {
        /// Of which trackable.
        public var trackable: TrackableID
        /// Which rule, by name.
        public var rule: String
        /// How it stands.
        public var state: RuleState

        /// Makes an entry.
        public init(trackable: TrackableID, rule: String, state: RuleState) {
            self.trackable = trackable
            self.rule = rule
            self.state = state
        }
    }

    /// A fix that is older than this when it comes is late, and so is what was passed before it: it tells where something was, not
    /// where it is.
    public static let maximumLateness: Duration = .seconds(120)

    private var rules: [Rule]
    private let maximumTrackables: Int
    /// With how many it is looked the next time for those that can be let go.
    private var limit: Int
    private var states: [TrackableID: [String: RuleState]] = [:]
    private var known: [TrackableID: Known] = [:]
    private var changed: Set<TrackableID> = []
    private var deadlines = MinHeap<Deadline>()
    /// What has a place in ``deadlines``: one that moves away is looked at again when the former one comes.
    private var expected: Set<Key> = []

    /// What is not to be kept any more.
    private var dropped: Set<Key> = []

    /// One rule for one trackable.
    public struct Key: Hashable, Sendable {
        /// Of which trackable.
        public var trackable: TrackableID
        /// Which rule, by name.
        public var rule: String

        /// Makes it.
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

    /// What new rules begin with.
    private struct Known {
        /// When something was heard of it last, by the clock.
        var heard: UnixTime
        /// The newest position that is believed, however old it was when it came.
        var last: Location?
        /// Whether any position came.
        var isLocated = false
        /// As its publisher said last.
        var isNear: Bool?
    }

    /// Since when nobody listens; `nil` while somebody does.
    private var deafSince: UnixTime?

    /// Starts with these rules, of which the later of two of one name counts, and with what was kept of them. Nobody was
    /// silent, and nobody was seen to stay, while nobody listened: that time counts from `now`.
    ///
    /// - Parameter maximumTrackables: Of more than so many those are let go that were not heard of for longest, and begin anew: all
    ///   but those that a rule names, or that are about to be told of. Twice as many as a subscriber watches at once, which lets
    ///   those go that were absent for a day.
    public init(_ rules: [Rule], kept: [Entry] = [], now: UnixTime, maximumTrackables: Int = 20_000) {
        (self.maximumTrackables, self.limit) = (maximumTrackables, maximumTrackables)
        self.rules = Dictionary(rules.map { ($0.name, $0) }, uniquingKeysWith: { $1 }).values
            .sorted { $0.name < $1.name }
        for entry in kept {
            guard let rule = self.rules.first(where: { $0.name == entry.rule }), rule.isFor(entry.trackable) else {
                continue
            }
            var state = entry.state
            // How long it was is not known: since what was kept at the longest.
            state.passedOver(rule.condition, from: state.since ?? now, to: now)
            self.states[entry.trackable, default: [:]][entry.rule] = state
            self.expect(rule, state, of: entry.trackable)
            let since = entry.state.since ?? now
            self.know(entry.trackable, now: max(since, self.known[entry.trackable]?.heard ?? since))
        }
        self.begin(self.rules, now: now)
    }

    /// Other rules from now on. A rule that watches for something else begins anew, and so does one for a trackable that it
    /// was not for meanwhile; all others go on. Who begins, begins with what is known: where something is now is no crossing.
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

    /// Lets a rule begin with what is known of a trackable, unless it did before.
    private mutating func begin(_ rule: Rule, of id: TrackableID, now: UnixTime) {
        guard self.states[id]?[rule.name] == nil, rule.isFor(id) else { return }
        let known = self.known[id] ?? Known(heard: now)
        let isExpected = known.isLocated || rule.trackables != nil
        let state = RuleState(
            beginning: rule.condition, at: known.last, isNear: known.isNear, isExpected: isExpected, now: now)
        self.keep(state, rule, of: id)
    }

    /// When `timerFired` is to be called; `nil` when never.
    public var nextDeadline: UnixTime? { self.deafSince == nil ? self.deadlines.min?.time : nil }

    /// What is to be kept, of the trackables that something changed of since the last call.
    public mutating func takeChanges() -> [Entry] {
        defer { self.changed = [] }
        return self.changed.flatMap { id in
            (self.states[id] ?? [:]).map { Entry(trackable: id, rule: $0.key, state: $0.value) }
        }
    }

    /// What is not to be kept any more, since the last call.
    public mutating func takeDropped() -> Set<Key> {
        defer { self.dropped = [] }
        return self.dropped.filter { self.states[$0.trackable]?[$0.rule] == nil }
    }

    /// Nothing can be heard from now on: no deadline comes until ``listening(now:)``.
    public mutating func deaf(now: UnixTime) { self.deafSince = self.deafSince ?? now }

    /// Everything is heard again. Silence counts from now, and of staying the time that nobody listened is left out.
    public mutating func listening(now: UnixTime) {
        guard let start = self.deafSince.take() else { return }
        for id in self.states.keys {
            for rule in self.rules {
                self.states[id]?[rule.name]?.passedOver(rule.condition, from: start, to: now)
            }
        }
    }

    /// The clock was set: silence counts from now, so that nobody is silent by what the clock passed over, nor for longer.
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

    /// Something came of a trackable, however late: it is not silent.
    public mutating func heard(_ id: TrackableID, now: UnixTime) {
        self.know(id, now: now)
        self.known[id]?.isLocated = true
        _ = self.examine(id, at: now) { state, rule in
            if case .silent = rule.condition { state.heard(at: now) }
            return false
        }
    }

    /// A position was heard of. One that is newer than what was known, and late, tells nothing: it is what rules begin with that
    /// knew nothing before, and who is elsewhere does not stay.
    ///
    /// - Parameter skipped: What it passed before, in order, since the last update: no later than the position that tells of it.
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

    /// A publisher said whether its trackable is near its destination; `nil` where that is not known any more.
    public mutating func came(near isNear: Bool?, _ id: TrackableID, now: UnixTime) -> [Finding] {
        self.know(id, now: now)
        self.known[id]?.isNear = isNear
        guard let isNear else { return [] }
        return self.examine(id, at: now) { state, rule in
            rule.condition == .arrived && state.came(near: isNear, at: now)
        }
    }

    /// Where a trackable was is not to be known any more: every rule begins anew for it.
    public mutating func forget(_ id: TrackableID, now: UnixTime) {
        self.known[id]?.last = nil
        self.known[id]?.isLocated = false
        for name in (self.states.removeValue(forKey: id) ?? [:]).keys {
            self.dropped.insert(Key(trackable: id, rule: name))
        }
        for rule in self.rules { self.begin(rule, of: id, now: now) }
    }

    private mutating func know(_ id: TrackableID, now: UnixTime) {
        self.known[id, default: Known(heard: now)].heard = now
        if self.known.count > self.limit { self.letGo(butNot: id) }
    }

    /// Lets those go that were not heard of for longest: an eighth at once, so that each costs a constant share.
    private mutating func letGo(butNot last: TrackableID) {
        let named = Set(self.rules.compactMap(\.trackables).joined())
        let idle = self.known.filter { id, _ in id != last && !named.contains(id) && !self.isPending(id) }
        let surplus = self.known.count - self.maximumTrackables * 7 / 8
        for (id, _) in idle.sorted(by: { $0.value.heard < $1.value.heard }).prefix(surplus) {
            self.known[id] = nil
            self.changed.remove(id)
            for name in (self.states.removeValue(forKey: id) ?? [:]).keys {
                self.dropped.insert(Key(trackable: id, rule: name))
            }
        }
        self.limit = max(self.maximumTrackables, self.known.count + self.maximumTrackables / 8)
    }

    /// Whether something of it is told without anything more being seen.
    private func isPending(_ id: TrackableID) -> Bool {
        guard let states = self.states[id] else { return false }
        return self.rules.contains { states[$0.name]?.deadline($0.condition) != nil }
    }

    /// The next deadline came.
    public mutating func timerFired(now: UnixTime) -> [Finding] {
        guard self.deafSince == nil else { return [] }
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
            state.deadlineCame()
            self.states[id]?[name] = state
            self.changed.insert(id)
            findings.append(self.finding(rule, of: id, at: deadline.time))
        }
        return findings
    }

    private mutating func examine(
        _ id: TrackableID, at time: UnixTime, _ isToTell: (inout RuleState, Rule) -> Bool
    ) -> [Finding] {
        var findings: [Finding] = []
        for rule in self.rules where rule.isFor(id) {
            let former = self.states[id]?[rule.name]
            var state = former ?? RuleState()
            if isToTell(&state, rule) { findings.append(self.finding(rule, of: id, at: time)) }
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
            detail["percent"] = .number(LowBatteryDetector.told(level * 100))
        }
        return Finding(
            trackable: id, rule: rule.name, kind: rule.condition.kind, detail: detail, time: time, location: last)
    }
}
