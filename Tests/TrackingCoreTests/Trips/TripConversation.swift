import Testing

@testable import TrackingCore

/// A trip machine and the log that numbers its versions.
struct TripConversation {
    private(set) var machine: TripStateMachine
    private(set) var versions: [Trip] = []
    private var lastSeq: UInt64 = 0
    private let stream = StreamID("s")

    init(automatic: TripMode? = nil, activity: Activity = .other) {
        self.machine = TripStateMachine(automatic: automatic, rest: PauseStateMachine(activity: activity), seed: 1)
    }

    private func next() throws -> RecordName { RecordName(stream: try #require(self.stream), seq: self.lastSeq + 1) }

    private mutating func lines(of change: TripStateMachine.Change?) -> [String] {
        guard let change else { return [] }
        #expect(change.trip.seq == self.lastSeq + 1)
        self.lastSeq += 1
        self.versions.append(change.trip)
        let trip = change.trip
        let word =
            switch change {
            case .started: "started"
            case .progressed: "goes on"
            case .ended: "ended by \(trip.endedBy?.rawValue ?? "nobody")"
            }
        return ["\(word): \(trip.mode) \(Int(trip.distance.rounded())) m \(Int(trip.duration.rounded())) s"]
    }

    mutating func start(_ mode: String, at seconds: Double) throws -> [String] {
        do {
            return self.lines(of: try self.machine.start(TripMode(mode), at: .at(seconds), next: self.next()))
        } catch let error as TrackingError {
            return ["\(error.code)"]
        }
    }

    mutating func stop(at seconds: Double) throws -> [String] {
        do {
            return self.lines(of: try self.machine.stop(at: .at(seconds), next: self.next()))
        } catch let error as TrackingError {
            return ["\(error.code)"]
        }
    }

    /// Passes a fix, which the log records if `isRecorded`.
    mutating func fix(_ fix: Location, at seconds: Double, isRecorded: Bool = true) throws -> [String] {
        var lines = self.lines(of: self.machine.moved(fix, at: .at(seconds), next: try self.next()))
        guard isRecorded else { return lines }
        self.lastSeq += 1
        lines += self.lines(of: self.machine.recorded(fix, at: .at(seconds), next: try self.next()))
        return lines
    }

    mutating func time(_ seconds: Double) throws -> [String] {
        self.lines(of: self.machine.timerFired(at: .at(seconds), next: try self.next()))
    }

    /// The program ends at `seconds`, and another one begins at `until` with a new monotonic clock.
    mutating func restart(at seconds: Double, until: Double) throws {
        let state = self.machine.encoded(at: .at(seconds))
        self.machine = TripStateMachine(
            automatic: self.machine.automatic, rest: PauseStateMachine(activity: .other), seed: 2)
        if let state { try self.machine.restore(state, at: .at(until)) }
    }

    mutating func stepped() { self.machine.clockStepped() }
}

/// Plays Tests/Scenarios/trips.
@Suite struct TripScenarioTests {
    @Test(arguments: ScenarioFile.names(of: "trips")) func scenario(name: String) throws {
        var talk = TripConversation()
        try ScenarioFile(name, of: "trips").play { words in
            let given = ScenarioWords(words)
            switch words[0] {
            case "automatic":
                talk = TripConversation(
                    automatic: try TripMode(words[1]),
                    activity: try given.text("activity").map { try #require(Activity(rawValue: $0)) } ?? .other)
                return []
            case "start": return try talk.start(words[1], at: try given.number("at") ?? 0)
            case "stop": return try talk.stop(at: try given.number("at") ?? 0)
            case "fix":
                let seconds = try #require(Double(words[1]))
                return try talk.fix(given.fix(), at: seconds, isRecorded: !given.has("unrecorded"))
            case "time": return try talk.time(try #require(Double(words[1])))
            case "restart":
                try talk.restart(at: try given.number("at") ?? 0, until: try given.number("until") ?? 0)
                return [talk.machine.current == nil ? "no trip" : "on a trip"]
            case "deadline":
                return [talk.machine.nextDeadline.map { "\(Int($0.sinceOrigin.inSeconds))" } ?? "none"]
            case "places":
                let trip = try #require(talk.versions.last)
                return [trip.startLocation, trip.lastLocation].map {
                    $0.map { "\(Int($0.coordinate.distance(to: Location.origin).value.rounded())) m" } ?? "unknown"
                }
            default:
                Issue.record("'\(words[0])' is nothing that happens to a trip machine")
                return []
            }
        }
    }

    @Test func thereAreScenarios() { #expect(ScenarioFile.names(of: "trips").count >= 5) }
}
