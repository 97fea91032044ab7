import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingRules
@testable import TrackingStore

/// A ``RulesStateMachine`` with a clock, a file and a history that answer its actions at once.
struct RulesConversation {
    private let start = UnixTime(1_700_000_000)
    private let depot: Coordinate
    private let stream: StreamID
    private var machine: RulesStateMachine
    private var saved = RulesStateMachine.Saved()
    private var moment: Moment
    private var history: [TrackableID: [UInt64]] = [:]
    /// The trackables with saved state or messages.
    private var stored: Set<TrackableID> = []
    var savingFails = false
    var hasHistory = true
    private var kinds: Set<Outbox.Kind> = []

    init() throws {
        self.depot = try #require(Coordinate(latitude: 52.66, longitude: -8.63))
        self.stream = try #require(StreamID("abcdefgh"))
        self.moment = Moment(now: MonotonicTime(.zero), wall: self.start)
        self.machine = RulesStateMachine(.init(seed: 7), at: self.moment)
    }

    // MARK: - The world

    /// Starts the machine, with the state that the last one saved.
    mutating func restart(kinds: Set<Outbox.Kind>) -> [String] {
        self.kinds = kinds
        self.machine = RulesStateMachine(.init(kinds: kinds, seed: 7), saved: self.saved, at: self.moment)
        return []
    }

    /// Ends the machine.
    mutating func stop() -> [String] {
        self.machine.stop(at: self.moment).flatMap { self.describe(.save($0)) + self.write($0) }
    }

    /// Sets the wall clock without time passing.
    mutating func step(_ seconds: Double) { self.moment.wall = self.moment.wall.advanced(by: .seconds(seconds)) }

    /// Lets time pass without the machine running.
    mutating func pause(_ seconds: Double) {
        self.moment = Moment(
            now: self.moment.now.advanced(by: .seconds(seconds)), wall: self.moment.wall.advanced(by: .seconds(seconds))
        )
    }

    /// Lets time pass, from deadline to deadline.
    mutating func wait(_ seconds: Double) -> [String] {
        let end = self.moment.now.advanced(by: .seconds(seconds))
        var lines: [String] = []
        while self.machine.nextDeadline(at: self.moment) <= end {
            let deadline = max(self.moment.now, self.machine.nextDeadline(at: self.moment))
            // A deadline of the wall clock is not earlier than its rounded monotonic one.
            self.pause(max(0.001, self.moment.now.duration(to: deadline).inSeconds))
            lines += self.handle(.timerFired)
        }
        self.pause(max(0, self.moment.now.duration(to: end).inSeconds))
        return lines
    }

    /// Adds numbered points to the history.
    mutating func record(_ id: TrackableID, _ numbers: [UInt64]) { self.history[id, default: []] += numbers }

    mutating func rules(_ descriptions: [String]) throws -> [String] {
        let fence = try Fence(name: "depot", shape: .circle(center: self.depot, radius: 100))
        let rules = try descriptions.map { text in
            let parts = text.split(separator: ":").map(String.init)
            let value = parts.count > 2 ? Double(parts[2]) ?? 0 : 0
            let condition: Rule.Condition =
                switch parts[1] {
                case "enter": .enter(fence)
                case "leave": .leave(fence)
                case "dwell": .dwell(fence, .seconds(value))
                case "silent": .silent(.seconds(value))
                case "speed": .speed(above: value)
                case "lowBattery": .lowBattery(below: value)
                default: .arrived
                }
            return try Rule(name: parts[0], condition)
        }
        self.saved.rules = rules
        self.saved.version += 1
        return self.handle(.rulesLoaded(rules, version: self.saved.version))
    }

    // MARK: - Inputs

    /// A position that is received now.
    mutating func fix(
        _ id: TrackableID, at second: Double, metres: Double, number: UInt64?, isRetained: Bool, isLate: Bool,
        speed: Double? = nil, battery: Double? = nil
    ) -> [String] {
        var fix = Location(
            coordinate: self.depot.destination(bearing: 0, distance: Meters(metres)),
            time: self.start.advanced(by: .seconds(second)))
        if let number { (fix.stream, fix.seq) = (self.stream, number) }
        (fix.speed, fix.batteryLevel) = (speed, battery)
        let update = ReceivedUpdate(
            update: LocationUpdate(location: fix), skipped: [], isLate: isLate, isRetained: isRetained)
        return self.handle(.received(.location(id, update)))
    }

    mutating func event(_ id: TrackableID, _ number: UInt64) -> [String] {
        let event = TrackingEvent(
            id: "e\(number)", stream: self.stream, seq: number, time: self.moment.wall, kind: .paused)
        return self.handle(.received(.event(id, event)))
    }

    mutating func trip(_ id: TrackableID, _ number: UInt64) -> [String] {
        let trip = Trip(id: "t1", mode: "car", start: self.start, stream: self.stream, seq: number)
        return self.handle(.received(.trip(id, trip)))
    }

    mutating func near(_ id: TrackableID, _ isNear: Bool) -> [String] {
        let inForce = ResolutionInForce(
            resolution: .standard, isNear: isNear, subscribers: 0, isLowBattery: false, state: .online, filter: .both,
            maximumSilence: .zero)
        return self.handle(.received(.resolution(id, inForce)))
    }

    /// Passes an input, performs the actions, and passes their answers.
    mutating func handle(_ input: RulesStateMachine.Input) -> [String] {
        var lines: [String] = []
        for action in self.machine.handle(input, at: self.moment) {
            lines += self.describe(action)
            if let answer = self.answer(action) { lines += self.handle(answer) }
        }
        return lines
    }

    // MARK: - Actions

    private mutating func answer(_ action: RulesStateMachine.Action) -> RulesStateMachine.Input? {
        switch action {
        case .save(let rows):
            guard !self.savingFails else { return .saveFailed }
            _ = self.write(rows)
            return .saved
        case .loadRules(let version):
            return .rulesLoaded(version == self.saved.version ? nil : self.saved.rules, version: self.saved.version)
        case .compare(let retained, _):
            return .compared(missing: self.stored.subtracting(retained).subtracting(self.history.keys))
        case .checkHistory: return self.hasHistory ? nil : .historyAbsent
        case .readHistory(let read): return .historyRead(read, self.page(read))
        case .trim, .openOutbox, .reportMissingHistory, .reportLost: return nil
        }
    }

    private func page(_ read: HistoryRead) -> HistoryPage {
        switch read.query {
        case .trackables: return .trackables(self.history.keys.sorted { $0.rawValue < $1.rawValue })
        case .events: return .events([])
        case .trips: return .trips([])
        case .points(let id, _):
            let points = (self.history[id] ?? []).map { number in
                var point = Location(coordinate: self.depot, time: self.start.advanced(by: .seconds(Double(number))))
                (point.stream, point.seq) = (self.stream, number)
                return StoredPoint(location: point, hasClockFault: false)
            }
            return .points(PointPage(points: points, next: nil))
        }
    }

    /// Saves rows as the database does.
    private mutating func write(_ rows: RuleRows) -> [String] {
        self.stored.subtract(rows.cleared)
        self.saved.states.removeAll { state in
            rows.dropped.contains(.init(trackable: state.trackable, rule: state.rule))
                || rows.states.contains { $0.trackable == state.trackable && $0.rule == state.rule }
        }
        self.saved.states += rows.states
        self.stored.formUnion(rows.states.map(\.trackable) + rows.drafts.map(\.trackable))
        self.saved.formerStreams.formUnion(rows.streams.values.map(\.stream))
        var marks = self.saved.watermarks.marks
        marks.merge(rows.watermarks) { $1 }
        self.saved.watermarks = RecordWatermarks(marks)
        for (id, name) in rows.trips {
            let trip = Trip(id: "t1", mode: "car", start: self.start, stream: name.stream, seq: name.seq)
            _ = self.saved.trips.advance(to: trip, of: id)
        }
        self.saved.cursor = rows.cursor ?? self.saved.cursor
        return []
    }

    private func describe(_ action: RulesStateMachine.Action) -> [String] {
        switch action {
        case .save(let rows):
            let removed = rows.cleared.map { "remove \($0)" }.sorted()
            let cursor = rows.cursor.map { ["cursor \(self.second($0))"] } ?? []
            return removed + rows.drafts.map(self.describe) + cursor
        case .loadRules: return []
        case .trim: return ["trim"]
        case .compare(let retained, let removesErased):
            let ids = retained.map(\.rawValue).sorted().joined(separator: ",")
            return ["compare \(ids)\(removesErased ? " and erased" : "")"]
        case .openOutbox: return ["open outbox"]
        case .checkHistory: return []
        case .readHistory(let read):
            switch read.query {
            case .trackables: return ["read trackables"]
            case .events(let id, _): return ["read events \(id)"]
            case .trips(let id, _): return ["read trips \(id)"]
            case .points(let id, _): return ["read points \(id)"]
            }
        case .reportMissingHistory: return ["report missing history"]
        case .reportLost(let count): return ["report \(count) lost"]
        }
    }

    private func describe(_ draft: Outbox.Draft) -> String {
        let json = try? JSONValue(json: draft.payload.utf8)
        if draft.isOwn {
            let rule = json?["detail"]?["rule"]?.text ?? json?["rule"]?.text ?? "?"
            return
                "\(json?["kind"]?.text ?? json?["type"]?.text ?? "?") \(draft.trackable) by \(rule) at \(self.second(draft.time))"
        }
        let number = json?["location"]?["properties"]?["seq"] ?? json?["seq"]
        return "queue \(draft.kind.rawValue) \(draft.trackable)\(number?.count.map { " \($0)" } ?? "")"
    }

    /// The seconds since the beginning, with one decimal where there is one.
    private func second(_ time: UnixTime) -> String {
        let tenths = (time.since(self.start).inSeconds * 10).rounded() / 10
        return tenths == tenths.rounded() ? "\(Int(tenths))" : "\(tenths)"
    }
}
