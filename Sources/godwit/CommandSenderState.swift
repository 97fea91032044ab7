import TrackingCore

/// Decides for a ``CommandSender`` which messages to send, and to which trackable an answer belongs.
///
/// The same answer can arrive twice: on the response topic (MQTT 5) and among the trackable's events. The first one
/// counts.
struct CommandSenderState {
    /// An action of the connection to the broker.
    enum Action: Equatable {
        case subscribe([String])
        case publish([OutgoingMessage])
        /// Close the connection, because every trackable has answered or can no longer answer.
        case finish
    }

    /// The outcome of the command for one trackable.
    enum Outcome: Equatable {
        case answered(CommandAnswer)
        /// The broker rejected the command, or both subscriptions to its answer.
        case refused(TrackingError)
    }

    private let root: TopicRoot
    private let client: ClientID
    private let commands: [(id: TrackableID, command: Command)]
    /// The outcomes known so far, by trackable.
    private(set) var outcomes: [TrackableID: Outcome] = [:]
    /// The trackables whose outcome ``takeNews()`` has not returned yet.
    private var news: [TrackableID] = []

    /// Creates the state in which no command is sent yet.
    ///
    /// - Parameter commands: One command for each trackable, each with its own id.
    init(root: TopicRoot, client: ClientID, commands: [(id: TrackableID, command: Command)]) {
        self.root = root
        self.client = client
        self.commands = commands
    }

    /// The trackables whose outcome is not known yet.
    var silent: [TrackableID] { self.commands.map(\.id).filter { self.outcomes[$0] == nil } }

    /// Returns the outcomes that became known since the last call.
    mutating func takeNews() -> [(TrackableID, Outcome)] {
        defer { self.news = [] }
        return self.news.compactMap { id in self.outcomes[id].map { (id, $0) } }
    }

    /// Returns the trackable to which a command message is addressed.
    func trackable(of message: OutgoingMessage) -> TrackableID? {
        guard case .command(let id) = self.root.topic(message.topic) else { return nil }
        return id
    }

    /// The topics on which answers arrive: the events and the response topic of each trackable.
    private var filters: [String] {
        self.commands.flatMap { [self.root.path(.event($0.id)), self.root.path(.answer($0.id, self.client))] }
    }

    /// Handles a new connection to the broker: subscribes to the topics of answers before a command is sent.
    func connected() -> Action { .subscribe(self.filters) }

    /// Handles the broker's answer to the subscription: sends the commands that have no outcome yet. A command that was
    /// sent before keeps its id, so that a device performs it once.
    mutating func subscribed(_ refusals: [TrackingError?]) -> [Action] {
        for (index, entry) in self.commands.enumerated() where self.outcomes[entry.id] == nil {
            let (event, answer) = (2 * index, 2 * index + 1)
            guard answer < refusals.count, let refusal = refusals[event], refusals[answer] != nil else { continue }
            self.learn(entry.id, .refused(refusal))
        }
        let waiting = self.commands.filter { self.outcomes[$0.id] == nil }
        let messages = waiting.compactMap { entry -> OutgoingMessage? in
            guard let payload = try? CommandCodec.encode(entry.command) else { return nil }
            var properties = MessageProperties()
            properties.contentType = "application/json"
            properties.responseTopic = self.root.path(.answer(entry.id, self.client))
            properties.correlationData = Array(entry.command.id.utf8)
            return OutgoingMessage(
                topic: self.root.path(.command(entry.id)), payload: payload, isRetained: false, properties: properties)
        }
        return (messages.isEmpty ? [] : [.publish(messages)]) + self.ifDone
    }

    /// Handles the broker's answer to the publish of the command for `id`: `nil` for an acknowledgement, or the reason
    /// of a refusal.
    mutating func published(to id: TrackableID, refusal: TrackingError?) -> [Action] {
        if let refusal { self.learn(id, .refused(refusal)) }
        return self.ifDone
    }

    /// Handles a received message. Messages that answer none of these commands are ignored.
    mutating func received(_ message: IncomingMessage) -> [Action] {
        guard let answer = self.answer(in: message),
            let entry = self.commands.first(where: { $0.command.id == answer.id })
        else { return [] }
        self.learn(entry.id, .answered(answer))
        return self.ifDone
    }

    private func answer(in message: IncomingMessage) -> CommandAnswer? {
        if case .event = self.root.topic(message.topic) {
            return try? CommandCodec.answer(in: MessageCodec.decodeEvent(message.payload))
        }
        return try? CommandCodec.decodeAnswer(message.payload)
    }

    private mutating func learn(_ id: TrackableID, _ outcome: Outcome) {
        guard self.outcomes[id] == nil else { return }
        self.outcomes[id] = outcome
        self.news.append(id)
    }

    private var ifDone: [Action] { self.silent.isEmpty ? [.finish] : [] }
}
