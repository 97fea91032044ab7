import TestSupport
import Testing

@testable import TrackingCore

/// Plays Tests/Scenarios/connection.
@Suite struct ConnectionScenarioTests {
    @Test(arguments: ScenarioPlayer.names(in: "connection")) func scenario(name: String) throws {
        var talk = ConnectionConversation()
        #expect(try ScenarioPlayer(name, in: "connection").play { words in try talk.happen(words) } == [])
    }

    @Test func thereAreScenarios() { #expect(ScenarioPlayer.names(in: "connection").count >= 8) }
}

/// A connection to one endpoint or several, with fixed jitter. `endpoints 2`, `pinned v5` and `provider` come before
/// `start`.
private struct ConnectionConversation {
    private var configuration = ConnectionStateMachine.Configuration(endpoints: 1)
    private var machine = ConnectionStateMachine(configuration: .init(endpoints: 1), seed: 1)
    private var now = MonotonicTime(.zero)

    /// `start`, `accept`, `unreachable`, `unanswered`, `refuse 0x84`, `lose`, `taken over`, `awaits`, `answers`, `try`, `close 2`,
    /// `drained`, `sent`, `cancel`, `wait 2.5`, `timer`, `credentials other`, `credentials same 600` (which expire in 600 s),
    /// `no credentials`.
    mutating func happen(_ words: [String]) throws -> [String] {
        switch words[0] {
        case "endpoints": self.configuration.endpoints = try #require(Int(words[1]))
        case "pinned": self.configuration.pinnedVersion = words[1] == "v5" ? .v5 : .v311
        case "provider": self.configuration.asksForCredentials = true
        case "credentials":
            let expiry = words.count > 2 ? self.now.advanced(by: .seconds(try #require(Double(words[2])))) : nil
            return self.texts(
                self.machine.credentialsReceived(areNew: words[1] == "other", expiry: expiry, now: self.now))
        case "no":
            let error = TrackingError(.inputUnreadable, "no file")
            return self.texts(self.machine.credentialsUnavailable(error, now: self.now))
        case "start":
            self.machine = ConnectionStateMachine(configuration: self.configuration, seed: 1)
            return self.texts(self.machine.started(now: self.now))
        case "accept":
            return self.texts(self.machine.accepted(sessionPresent: words.contains("present"), now: self.now))
        case "unreachable": return self.failed(.unreachable(TrackingError(.brokerUnreachable, "no route")))
        case "unanswered": return self.failed(.closedUnanswered(TrackingError(.connectionLost, "closed")))
        case "refuse":
            let code = try #require(UInt8(words[1].dropFirst(2), radix: 16))
            let kind: TrackingError.Code = [0x86, 0x87].contains(code) ? .badCredentials : .refused
            return self.failed(.refused(TrackingError(kind, "no", reasonCode: code)))
        case "lose":
            return self.texts(self.machine.connectionLost(TrackingError(.connectionLost, "cut"), now: self.now))
        case "taken": return self.texts(self.machine.connectionLost(TrackingError(.takenOver, "taken"), now: self.now))
        case "awaits": self.machine.answersAwaited(since: self.now)
        case "answers": self.machine.answersAwaited(since: nil)
        case "try": return self.texts(self.machine.tryRequested(now: self.now))
        case "close":
            let limit = Duration.seconds(try #require(Double(words[1])))
            return self.texts(self.machine.closeRequested(within: limit, now: self.now))
        case "drained": return self.texts(self.machine.drained(now: self.now))
        case "sent": return self.texts(self.machine.goodbyeSent(now: self.now))
        case "cancel": return self.texts(self.machine.cancelled(now: self.now))
        case "wait":
            self.now = self.now.advanced(by: .seconds(try #require(Double(words[1]))))
            return self.texts(self.machine.timerFired(now: self.now))
        case "timer":
            self.now = max(self.now, try #require(self.machine.nextDeadline))
            return self.texts(self.machine.timerFired(now: self.now))
        default: Issue.record("'\(words[0])' is no input of a connection")
        }
        return []
    }

    private mutating func failed(_ failure: ConnectionStateMachine.Failure) -> [String] {
        self.texts(self.machine.attemptFailed(failure, now: self.now))
    }

    private func texts(_ actions: [ConnectionStateMachine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .askForCredentials: return "ask for credentials"
            case .connect(let attempt):
                return "connect \(attempt.connection) to endpoint \(attempt.endpoint) with \(attempt.version.rawValue)"
                    + (attempt.retainsWill ? "" : " without a retained will")
            case .abandon: return "abandon"
            case .sendGoodbye: return "send DISCONNECT"
            case .deliver(.connected(let connection, let isPresent, _)):
                return "connected \(connection)" + (isPresent ? " with its session" : "")
            case .deliver(.disconnected(let lost)):
                let reason = lost.reason.map { "\($0.code)" } ?? "in order"
                guard let retry = lost.retry else { return "disconnected \(reason), for good" }
                return "disconnected \(reason), again in \(Self.milliseconds(retry)) ms"
            case .deliver(let event): return "\(event)"
            case .finish: return "finish"
            }
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
    }
}
