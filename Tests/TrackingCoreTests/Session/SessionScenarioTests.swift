import Testing

@testable import TrackingCore

/// Plays Tests/Scenarios/session.
@Suite struct SessionScenarioTests {
    @Test(arguments: ScenarioFile.names(of: "session")) func scenario(name: String) throws {
        var talk = try SessionConversation()
        try ScenarioFile(name, of: "session").play { words in try talk.happen(words) }
    }

    @Test func thereAreScenarios() { #expect(ScenarioFile.names(of: "session").count >= 4) }
}

/// A session machine of client `c1`, session `mine`, lease 90 s, with the actions of its driver.
private struct SessionConversation {
    var machine: SessionStateMachine
    var now = MonotonicTime(.zero)

    init() throws {
        self.machine = SessionStateMachine(
            client: try ClientID("c1"), session: try #require(SessionID("mine")), lease: .seconds(90))
    }

    /// `connect 0`, `connect 1 to 1` (the index of the broker), `hear mine/0 online|offline`, `hear nothing`, `suback`, `disconnect`, `wait 45`.
    mutating func happen(_ words: [String]) throws -> [String] {
        let before = self.machine
        var answers: [String] = []
        switch words[0] {
        case "connect":
            let broker = words.count > 3 ? try #require(Int(words[3])) : 0
            self.machine.connected(connection: try #require(Int(words[1])), broker: broker)
        case "disconnect": self.machine.disconnected()
        case "suback":
            answers = [self.machine.settled(now: self.now) ? "publish \(self.birth)" : "close without a word"]
        case "hear": if self.machine.receivedOwn(try self.liveness(words)) { answers = ["publish \(self.birth)"] }
        case "wait": answers = self.wait(.seconds(try #require(Double(words[1]))))
        default: Issue.record("'\(words[0])' is nothing that happens to a session machine")
        }
        if self.phase(self.machine) != self.phase(before) { answers.append(self.phase(self.machine)) }
        if self.machine.isLivenessConfirmed != before.isLivenessConfirmed {
            answers.append(self.machine.isLivenessConfirmed ? "confirmed" : "not confirmed")
        }
        return answers
    }

    private mutating func wait(_ duration: Duration) -> [String] {
        let end = self.now.advanced(by: duration)
        var answers: [String] = []
        while let deadline = self.machine.nextDeadline, deadline <= end {
            self.now = deadline
            if self.machine.timerFired(now: deadline) { answers.append("publish \(self.birth) at \(self.seconds) s") }
        }
        self.now = end
        return answers
    }

    private func liveness(_ words: [String]) throws -> Liveness? {
        guard words[1] != "nothing" else { return nil }
        let run = words[1].split(separator: "/")
        return Liveness(
            status: words[2] == "online" ? .online(lease: .seconds(90)) : .offline,
            session: try #require(SessionID(String(run[0]))), connection: try #require(Int(run[1])))
    }

    private var seconds: Int64 { self.now.sinceOrigin.components.seconds }
    private var birth: String { "online \(self.machine.birth.session)/\(self.machine.birth.connection)" }

    private func phase(_ machine: SessionStateMachine) -> String {
        switch machine.phase {
        case .offline: "is offline"
        case .reading(_, let standing): "reads: \(standing.map { "\($0) is retained" } ?? "nobody is retained")"
        case .online: "is online"
        case .takenOver(let session): "was taken over by \(session)"
        }
    }
}
