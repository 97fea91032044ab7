import TestSupport
import Testing
import TrackingCore
import TrackingStore

@testable import TrackingRecorder

/// Plays Tests/Scenarios/standby.
@Suite struct StandbyScenarioTests {
    @Test(arguments: ScenarioPlayer.names(in: "standby")) func scenario(name: String) throws {
        var talk = StandbyConversation()
        #expect(try ScenarioPlayer(name, in: "standby").play { words in try talk.happen(words) } == [])
    }

    @Test func thereAreScenarios() { #expect(ScenarioPlayer.names(in: "standby").count >= 6) }

    /// The former recorder has stopped before the database can give the lease to another one.
    @Test func aRecorderStopsBeforeItsLeaseEnds() throws {
        var machine = StandbyStateMachine(now: MonotonicTime(.zero))
        #expect(machine.happened(.timer, now: MonotonicTime(.zero)) == [.claim])
        let answered = MonotonicTime(.seconds(4))
        #expect(machine.happened(.answered(.held), now: answered).contains(.start))
        let deadline = try #require(machine.nextDeadline)
        #expect(machine.happened(.timer, now: deadline) == [.claim])
        let end = try #require(machine.nextDeadline)
        #expect(machine.happened(.timer, now: end).first == .abandon)
        // The database counted the lease from the request at the earliest.
        #expect(end < MonotonicTime(RecorderLease.duration))
    }
}

/// A recorder of several with the same name.
private struct StandbyConversation {
    private var now = MonotonicTime(.zero)
    private lazy var machine = StandbyStateMachine(now: self.now)

    /// `begin`, `held`, `held by another 7`, `no answer`, `broker connected|lost`, `recorder ended|taken over`, `wait 5`,
    /// `suspended 60`, `stop`. `wait` passes the deadlines one by one, and `suspended` passes the time at once.
    mutating func happen(_ words: [String]) throws -> [String] {
        switch words[0] {
        case "begin": return self.happened(.timer)
        case "held":
            guard words.count > 1 else { return self.happened(.answered(.held)) }
            let remaining = Duration.seconds(try #require(Double(words[3])))
            return self.happened(.answered(.heldByAnother(remaining: remaining)))
        case "no": return self.happened(.failed(TrackingError(.storeFailed, "no answer")))
        case "broker": return self.happened(.broker(isConnected: words[1] == "connected"))
        case "recorder":
            let error = words[1] == "taken" ? TrackingError(.takenOver, "name in use") : nil
            return self.happened(.recorderEnded(error))
        case "stop": return self.happened(.stop)
        case "suspended":
            self.now = self.now.advanced(by: .seconds(try #require(Double(words[1]))))
            return self.happened(.timer)
        case "wait": return self.wait(.seconds(try #require(Double(words[1]))))
        default:
            Issue.record("'\(words[0])' is no input of a waiting recorder")
            return []
        }
    }

    private mutating func wait(_ time: Duration) -> [String] {
        let start = self.now
        let end = start.advanced(by: time)
        var answers: [String] = []
        while let deadline = self.machine.nextDeadline, deadline <= end {
            self.now = max(self.now, deadline)
            let passed = start.duration(to: self.now).inSeconds
            answers += self.happened(.timer).map { "after \(passed) s: \($0)" }
        }
        self.now = end
        return answers
    }

    private mutating func happened(_ event: StandbyStateMachine.Event) -> [String] {
        self.machine.happened(event, now: self.now).map(Self.text) + (self.machine.isEnded ? ["ends"] : [])
    }

    private static func text(_ action: StandbyStateMachine.Action) -> String {
        switch action {
        case .claim: "request the lease"
        case .start: "start the recorder"
        case .abandon: "abandon the recorder"
        case .reconnect: "connect to the history again"
        case .release: "release the lease"
        case .report(.waiting): "report: another recorder is active"
        case .report(.active): "report: active"
        case .report(.lost(.expired)): "report: the lease ends"
        case .report(.lost(.superseded)): "report: another recorder took over"
        case .report(.lost(.failed(let error))): "report: ended because of \(error.message)"
        case .report(.lost(.disconnected)): "report: no connection to the broker"
        case .report(.databaseAway): "report: the database is away"
        }
    }
}
