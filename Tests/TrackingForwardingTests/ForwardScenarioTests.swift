import TestSupport
import Testing
import TrackingCore
import TrackingSinks

@testable import TrackingForwarding

/// Plays Tests/Scenarios/forward.
@Suite struct ForwardScenarioTests {
    @Test(arguments: ScenarioPlayer.names(in: "forward")) func scenario(name: String) throws {
        var talk = ForwardConversation()
        #expect(try ScenarioPlayer(name, in: "forward").play { words in try talk.happen(words) } == [])
    }

    /// With `--once`, a sink that rejects everything ends the forwarder, once the limit of points has grown to 1,000.
    @Test func aSinkThatRejectsEverythingEndsWithAnError() {
        var state = ForwardStateMachine(batchSize: 1, endsWhenEmpty: true)
        let now = MonotonicTime(.zero)
        var waits = 0
        for _ in 0..<3000 {
            let action = state.happened(.answered(ForwardAnswer(.rejectedContent(count: 1))), at: now)
            if action == .giveUp { break }
            if case .wait = action { waits += 1 }
        }
        #expect(waits == 7 && state.leftOut == 1000)
    }

    @Test func thereAreScenarios() { #expect(ScenarioPlayer.names(in: "forward").count >= 5) }
}

/// The forwarding to one sink, with a batch size of 200 unless `once` or `batch` says otherwise.
private struct ForwardConversation {
    private var state = ForwardStateMachine(batchSize: 200, endsWhenEmpty: false)
    private var now = MonotonicTime(.zero)

    /// `batch 10`, `once`, `start`, `at 12` (seconds), `read points|repeated|nothing|empty`, `ok`, `rejected 200`, `failed`,
    /// `failed retry-after 60`, `removed`, `store failed`, `due`.
    mutating func happen(_ words: [String]) throws -> [String] {
        switch words[0] {
        case "batch":
            self.state = ForwardStateMachine(batchSize: try #require(Int(words[1])), endsWhenEmpty: false)
        case "once": self.state = ForwardStateMachine(batchSize: 200, endsWhenEmpty: true)
        case "start": return [self.text(self.state.first)]
        case "at": self.now = MonotonicTime(.seconds(try #require(Double(words[1]))))
        case "read":
            let readings: [String: ForwardStateMachine.Reading] = [
                "points": .points, "repeated": .repeatedPoint, "nothing": .nothingToSend, "empty": .empty,
            ]
            return self.answers(to: .read(try #require(readings[words[1]])))
        case "ok": return self.answers(to: .answered(ForwardAnswer(.acknowledged)))
        case "rejected":
            return self.answers(to: .answered(ForwardAnswer(.rejectedContent(count: try #require(Int(words[1]))))))
        case "failed":
            let wait = words.count > 2 ? Duration.seconds(try #require(Double(words[2]))) : .zero
            return self.answers(to: .answered(ForwardAnswer(.failed, requestedWait: wait)))
        case "removed": return self.answers(to: .removed)
        case "store": return self.answers(to: .storeFailed)
        case "due": return self.answers(to: .due)
        default: Issue.record("'\(words[0])' is no input of a forwarder")
        }
        return []
    }

    private mutating func answers(to event: ForwardStateMachine.Event) -> [String] {
        let action = self.state.happened(event, at: self.now)
        let leftOut = self.state.leftOut > 0 ? ["left out \(self.state.leftOut)"] : []
        return [self.text(action)] + leftOut
    }

    private func text(_ action: ForwardStateMachine.Action) -> String {
        switch action {
        case .read(let limit): "read \(limit)"
        case .send: "send"
        case .remove: "remove"
        case .removeAndRepeat: "remove and repeat"
        case .quarantine: "quarantine"
        case .wait(let deadline): "wait until \(Int(deadline.sinceOrigin.inSeconds.rounded()))"
        case .end: "end"
        case .giveUp: "give up"
        }
    }
}
