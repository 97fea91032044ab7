import TestSupport
import Testing

@testable import TrackingCore

/// Plays Tests/Scenarios/member.
@Suite struct MemberScenarioTests {
    @Test(arguments: ScenarioPlayer.names(in: "member")) func scenario(name: String) throws {
        var talk = try MemberConversation()
        #expect(try ScenarioPlayer(name, in: "member").play { words in try talk.happen(words) } == [])
    }

    @Test func thereAreScenarios() { #expect(ScenarioPlayer.names(in: "member").count >= 8) }
}

/// A member of client `c1`, session `mine`, lease 90 s, that follows the trackable `van`. Requests and members are written as text.
private struct MemberConversation {
    private struct Configuration: MemberConfiguration {
        let client: ClientID
        let session: SessionID
        let topicRoot = TopicRoot.standard
    }

    private var machine: MemberStateMachine<String>
    private var random = SplitMix64(seed: 1)
    private var now = MonotonicTime(.zero)
    private var subscriptions: [TransportToken] = []
    private var publishes: [TransportToken] = []
    private let van: TrackableID

    init() throws {
        let configuration = Configuration(client: try ClientID("c1"), session: try #require(SessionID("mine")))
        self.machine = MemberStateMachine(configuration, lease: .seconds(90))
        self.van = try TrackableID("van")
    }

    /// `connect 0`, `lose`, `close`, `granted`, `acked`, `refused`, `publish`, `clear`, `abandon`, `goodbye [random]`, `hide`, `show`,
    /// `announce`, `cancel`, `forget`, `withdraw`, `wait 2.5`, `owner`, `own online|offline mine/0 [retained]`, `own nothing`,
    /// `publisher|subscriber d1 a/0 [since 5] [retained|cleared]`, `online|offline d1 a/0 [retained]`, `garbage van/publisher/d1`.
    mutating func happen(_ words: [String]) throws -> [String] {
        switch words[0] {
        case "connect": return self.connect(try #require(Int(words[1])))
        case "lose": return self.lose(retry: .seconds(1))
        case "close": return self.lose(retry: nil)
        case "granted": return try self.granted()
        case "acked", "refused": return self.acked()
        case "publish": return self.texts([self.machine.publish(.location(self.van), [0x7B], "position")])
        case "clear": return self.texts(self.machine.clear(.publisher(self.van, self.machine.client)))
        case "abandon": self.machine.abandonClearing(of: .publisher(self.van, self.machine.client))
        case "goodbye": return self.texts([self.machine.publishGoodbye(isClientRandom: words.contains("random"))])
        case "hide": self.machine.publishesLiveness = false
        case "show": self.machine.publishesLiveness = true
        case "announce": self.machine.announceSoon(self.van, now: self.now, using: &self.random)
        case "cancel": self.machine.cancelAnnouncement(on: self.van)
        case "forget": return self.texts(self.machine.forget(self.van))
        case "withdraw": self.machine.withdrawRequests { $0 == "position" }
        case "wait": return self.wait(.seconds(try #require(Double(words[1]))))
        case "owner": return [self.machine.presence.owner(of: self.van)?.client.rawValue ?? "no owner"]
        default: return try self.received(words)
        }
        return []
    }

    private mutating func connect(_ connection: Int) -> [String] {
        (self.subscriptions, self.publishes) = ([], [])
        self.machine.connected(connection, broker: 0, now: self.now)
        let filters = [.publishers(self.van)] + self.machine.watchedLiveness + [self.machine.ownLiveness]
        return self.texts([self.machine.subscribe(filters, "settle")])
    }

    private mutating func lose(retry: Duration?) -> [String] {
        (self.subscriptions, self.publishes) = ([], [])
        let unanswered = self.machine.disconnected(Disconnection(reason: nil, retry: retry, lasted: .zero))
        return unanswered.map { "unanswered \($0)" } + (self.machine.isClosed ? ["is closed"] : [])
    }

    private mutating func granted() throws -> [String] {
        let tokens = self.subscriptions
        self.subscriptions = []
        return tokens.flatMap { token -> [String] in
            guard self.machine.subscribed(token) == "settle" else { return [] }
            switch self.machine.settled(now: self.now) {
            case .announced(let commands):
                return self.texts(commands) + self.texts(self.machine.clearAgain())
            case .takenOver(let error): return ["taken over: \(error.code)"]
            case .notConnected: return ["not connected"]
            }
        }
    }

    private mutating func acked() -> [String] {
        let tokens = self.publishes
        self.publishes = []
        return tokens.map { token in
            switch self.machine.published(token) {
            case .role(let purpose): "answer to \(purpose)"
            case .own(let topic): "answer on \(self.machine.root.path(topic).dropFirst(9))"
            case .liveness: "answer to a subscription"
            case nil: "answer to nothing"
            }
        }
    }

    private mutating func wait(_ duration: Duration) -> [String] {
        let end = self.now.advanced(by: duration)
        var answers: [String] = []
        while let deadline = self.machine.nextDeadline, deadline <= end {
            self.now = max(self.now, deadline)
            answers += self.texts(self.machine.timerFired(now: self.now))
        }
        self.now = end
        return answers
    }

    private mutating func received(_ words: [String]) throws -> [String] {
        switch words[0] {
        case "garbage": return try self.receive(words[1], "no message", isRetained: false)
        case "own":
            return try self.receive("_clients/c1", Self.liveness(words), isRetained: words.contains("retained"))
        case "online", "offline":
            return try self.receive(
                "_clients/\(words[1])", Self.liveness(["", words[0], words[2]]),
                isRetained: words.contains("retained"))
        case "publisher", "subscriber":
            let run = words[2].split(separator: "/")
            let since = words.firstIndex(of: "since").map { words[$0 + 1] } ?? "1"
            let payload =
                #"{"type":"\#(words[0].uppercased())","session":"\#(run[0])","connection":\#(run[1]),"lease":90,"#
                + #""since":\#(since)}"#
            return try self.receive(
                "van/\(words[0])/\(words[1])", words.contains("cleared") ? "" : payload,
                isRetained: words.contains("retained"))
        default:
            Issue.record("'\(words[0])' is no input of a member")
            return []
        }
    }

    private static func liveness(_ words: [String]) -> String {
        guard words[1] != "nothing" else { return "" }
        let run = words[2].split(separator: "/")
        return #"{"status":"\#(words[1])","session":"\#(run[0])","connection":\#(run[1]),"lease":90}"#
    }

    private mutating func receive(_ topic: String, _ text: String, isRetained: Bool) throws -> [String] {
        let message = IncomingMessage(
            topic: "tracking/" + topic, payload: Array(text.utf8)[...], isRetained: isRetained)
        do throws(TrackingError) {
            switch try self.machine.received(message, now: self.now) {
            case .foreign: return ["foreign"]
            case .role(let topic): return ["role's topic \(self.machine.root.path(topic))"]
            case .presence(let presence): return self.texts(self.machine.note(presence, now: self.now))
            case .ownLiveness(let commands):
                return self.texts(commands) + (self.machine.session.isLivenessConfirmed ? ["is confirmed"] : [])
            case .liveness(_, _, let events): return self.texts(events)
            }
        } catch {
            return self.texts([self.machine.skipped(topic, error)]) + ["\(self.machine.badMessages) bad"]
        }
    }

    // MARK: - As text

    private mutating func texts(_ events: [MemberStateMachine<String>.Event]) -> [String] {
        events.flatMap { event -> [String] in
            switch event {
            case .send(let commands): self.texts(commands)
            case .arrived(let member): ["arrived \(Self.text(member))"]
            case .changed(let member): ["changed \(Self.text(member))"]
            case .left(let member): ["left \(Self.text(member))"]
            case .announcementsDue(let ids): ["announce \(ids.map(\.rawValue).joined(separator: " "))"]
            case .badMessage(let topic, _): ["bad message on \(topic)"]
            }
        }
    }

    private static func text(_ member: Member) -> String {
        "\(member.presence.kind.rawValue.lowercased()) \(member.client) \(member.presence.session)/\(member.presence.connection)"
    }

    private mutating func texts(_ commands: [TransportCommand]) -> [String] {
        commands.map { command in
            switch command {
            case .subscribe(let filters, let token):
                self.subscriptions.append(token)
                return "subscribe \(filters.map { $0.dropFirst(9) }.joined(separator: " "))"
            case .unsubscribe(let filters):
                return "unsubscribe \(filters.map { $0.dropFirst(9) }.joined(separator: " "))"
            case .publish(let message, let token):
                self.publishes.append(token)
                let topic = message.topic.dropFirst(9)
                guard !message.payload.isEmpty else { return "\(topic): cleared" }
                guard let liveness = try? MessageCodec.decodeLiveness(message.payload) else { return "\(topic)" }
                return "\(topic): \(liveness.status == .offline ? "offline" : "online") "
                    + "\(liveness.session)/\(liveness.connection)"
            case .tryNow, .acknowledge, .close: return "\(command)"
            }
        }
    }
}
