import TestSupport
import Testing
import TrackingCore

@testable import TrackingRecorder

/// Plays Tests/Scenarios/recorder.
@Suite struct RecorderScenarioTests {
    @Test(arguments: ScenarioPlayer.names(in: "recorder")) func scenario(name: String) throws {
        var talk = try RecorderConversation()
        #expect(try ScenarioPlayer(name, in: "recorder").play { words in try talk.happen(words) } == [])
    }

    @Test func thereAreScenarios() { #expect(ScenarioPlayer.names(in: "recorder").count >= 8) }
}

/// A recorder `keeper` that stores pages of three messages of the trackable `van`.
private struct RecorderConversation {
    private var machine: RecorderStateMachine
    private var now = MonotonicTime(.zero)
    private var subscriptions: [(token: TransportToken, filters: [String], isIntake: Bool)] = []
    private var publishes: [TransportToken] = []

    init(window: Int = 3, group: String? = nil, isFirstRun: Bool = true) throws {
        var configuration = RecorderConfiguration(
            client: try ClientID("keeper"), session: try #require(SessionID("mine")))
        configuration.window = window
        configuration.isFirstRun = isFirstRun
        configuration.group = try group.map { try RecorderGroup(name: ClientID($0), secret: "0123456789abcdef") }
        self.machine = RecorderStateMachine(configuration: configuration)
    }

    /// `with window 1`, `with group team`, `with history` before everything else, `intake 0 [present]`, `intake lost|closed`,
    /// `member 0`, `member lost|closed`, `granted [not +/history]`, `acked`, `refused`, `point 3`, `batch 3`, `stored 3`, `store fails`,
    /// `store refuses`, `store unusable`, `dropped 7`, `heartbeat`, `acknowledged`, `own offline mine/0`, `expect`, `wait 0.05`, `stop`,
    /// `abandon`.
    mutating func happen(_ words: [String]) throws -> [String] {
        let lost = Disconnection(
            reason: nil, retry: words.last == "closed" ? nil : .seconds(1), lasted: .zero)
        switch words[0] {
        case "with":
            self = try RecorderConversation(
                window: words[1] == "window" ? try #require(Int(words[2])) : 3,
                group: words[1] == "group" ? words[2] : nil, isFirstRun: words[1] != "history")
            return []
        case "intake" where Int(words[1]) == nil:
            self.subscriptions.removeAll(where: \.isIntake)
            return self.happened(.intake([.disconnected(lost)]))
        case "intake":
            let connection = try #require(Int(words[1]))
            return self.happened(
                .intake([.connected(connection: connection, sessionPresent: words.contains("present"))]))
        case "member" where Int(words[1]) == nil:
            (self.publishes, self.subscriptions) = ([], self.subscriptions.filter(\.isIntake))
            return self.happened(.voice([.disconnected(lost)]))
        case "member":
            let connection = try #require(Int(words[1]))
            return self.happened(.voice([.connected(connection: connection, sessionPresent: false)]))
        case "granted": return self.granted(refusing: words.count > 2 ? "tracking/" + words[2] : nil)
        case "acked": return self.acked(nil)
        case "refused": return self.acked(TrackingError(.notAuthorized, "forbidden"))
        case "wait": return self.wait(.seconds(try #require(Double(words[1]))))
        case "expect": return self.happened(.expect([try TrackableID("van")]))
        case "stop": return self.happened(.stop)
        case "abandon": return self.happened(.abandon)
        case "stored": return self.happened(.stored(try self.acknowledgement(words[1])))
        case "store":
            let code: TrackingError.Code =
                words[1] == "fails" ? .storeFailed : words[1] == "refuses" ? .storeRefused : .storeUnusable
            return self.happened(.storeFailed(TrackingError(code, "reason")))
        default: return self.received(words)
        }
    }

    private func acknowledgement(_ seq: String) throws -> [TrackableID: Acknowledgement] {
        [
            try TrackableID("van"): Acknowledgement(
                streams: [try #require(StreamID("s1")): try #require(UInt64(seq))])
        ]
    }

    private mutating func received(_ words: [String]) -> [String] {
        switch words[0] {
        case "point":
            return self.receive(
                "tracking/van",
                #"{"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.5,52.5]},"#
                    + #""properties":{"time":170000000\#(words[1]),"seq":\#(words[1]),"stream":"s1"}},"#
                    + #""skippedLocations":[],"type":"ACTUAL"}"#)
        case "batch":
            return self.receive(
                "tracking/van/history",
                #"{"batch":"b\#(words[1])","stream":"s1","oldest":1,"points":[],"remaining":0}"#)
        case "heartbeat":
            return self.receive(
                "tracking/_clients/keeper", #"{"status":"online","session":"mine","connection":0,"lease":90}"#)
        case "acknowledged":
            return self.receive("tracking/van/ack/team", #"{"streams":{"s1":3}}"#, isIntake: false)
        case "dropped": return self.receive(BrokerDropCounter.topic, words[1], isIntake: false)
        case "own":
            let run = words[2].split(separator: "/")
            return self.receive(
                "tracking/_clients/keeper",
                #"{"status":"\#(words[1])","session":"\#(run[0])","connection":\#(run[1]),"lease":90}"#,
                isIntake: false)
        default:
            Issue.record("'\(words[0])' is no input of a recorder")
            return []
        }
    }

    private mutating func receive(_ topic: String, _ text: String, isIntake: Bool = true) -> [String] {
        let message = IncomingMessage(topic: topic, payload: Array(text.utf8)[...], isRetained: false)
        return self.happened(isIntake ? .intake([.received(message)]) : .voice([.received(message)]))
    }

    private mutating func happened(_ event: RecorderStateMachine.Event) -> [String] {
        let moment = Moment(now: self.now, wall: UnixTime(1_700_000_000).advanced(by: self.now.sinceOrigin))
        return self.machine.happened(event, at: moment).flatMap { self.text($0) }
            + (self.machine.isFull ? ["is full"] : []) + (self.machine.isClosed ? ["is closed"] : [])
    }

    private mutating func wait(_ duration: Duration) -> [String] {
        let end = self.now.advanced(by: duration)
        var answers: [String] = []
        while let deadline = self.machine.nextDeadline, deadline <= end {
            self.now = max(self.now, deadline)
            answers += self.happened(.timer)
        }
        self.now = end
        return answers
    }

    /// Answers all pending subscriptions, and those of the next slices, which follow after a pause.
    private mutating func granted(refusing filter: String?) -> [String] {
        let subscriptions = self.subscriptions
        self.subscriptions = []
        let answers = subscriptions.flatMap { token, filters, isIntake in
            let answer = TransportEvent.subscribed(
                token, refusals: filters.map { $0 == filter ? TrackingError(.notAuthorized, "forbidden") : nil })
            return self.happened(isIntake ? .intake([answer]) : .voice([answer]))
        }
        let slices = self.machine.intake.slices
        guard !slices.isAllSent, slices.deadline != nil else { return answers }
        return answers + self.wait(SubscriptionSlices<TopicFilter>.shortestPause) + self.granted(refusing: filter)
    }

    private mutating func acked(_ refusal: TrackingError?) -> [String] {
        let tokens = self.publishes
        self.publishes = []
        return tokens.flatMap { self.happened(.voice([.published($0, refusal: refusal)])) }
    }

    // MARK: - As text

    private mutating func text(_ action: RecorderStateMachine.Action) -> [String] {
        switch action {
        case .intake(let commands): return commands.map { "intake: " + self.text($0, isIntake: true) }
        case .voice(let commands): return commands.map { "member: " + self.text($0, isIntake: false) }
        case .store(let batch):
            return ["store \(batch.recordings.count) records, quarantine \(batch.refused.count)"]
        case .deliver(let event): return [Self.text(event)]
        }
    }

    private mutating func text(_ command: TransportCommand, isIntake: Bool) -> String {
        switch command {
        case .subscribe(let filters, let token):
            self.subscriptions.append((token, filters, isIntake))
            return "subscribe \(filters.map { $0.replacing("tracking/", with: "") }.joined(separator: " "))"
        case .publish(let message, let token):
            self.publishes.append(token)
            let topic = message.topic.dropFirst(9)
            guard let liveness = try? MessageCodec.decodeLiveness(message.payload) else {
                return "\(topic): \(String(decoding: message.payload, as: UTF8.self))"
            }
            return
                "\(topic): \(liveness.status == .offline ? "offline" : "online") \(liveness.session)/\(liveness.connection)"
        case .acknowledge(let count, let connection): return "acknowledge \(count) of connection \(connection)"
        case .close: return "close"
        case .unsubscribe, .tryNow: return "\(command)"
        }
    }

    private static func text(_ event: RecorderEvent) -> String {
        switch event {
        case .connected(let isPresent): "connected" + (isPresent ? " with its session" : "")
        case .disconnected: "disconnected"
        case .voice(let lost): lost == nil ? "member connected" : "member disconnected"
        case .subscriptionRefused(let filter, _): "subscription refused \(filter.replacing("tracking/", with: ""))"
        case .acknowledgementRefused(let id, _): "acknowledgement refused \(id)"
        case .cleared(let count): "cleared \(count)"
        case .clearingRefused: "clearing refused"
        case .possibleGap: "possible gap"
        case .shareDelivered: "messages are shared"
        case .shareUndelivered(let isAlone): "nothing is shared" + (isAlone ? ", alone" : "")
        case .brokerDropped(let count): "broker dropped \(count)"
        case .storeAway(_, let retry): "store away, " + (retry.map { "again in \($0)" } ?? "no answer")
        case .storeRefuses: "store refuses a record"
        case .storeBack(let pause): "store back after \(pause)"
        case .failed(let error): "failed: \(error.code)"
        }
    }
}
