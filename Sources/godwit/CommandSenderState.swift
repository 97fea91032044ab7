import TrackingCore

/// The decisions of a command sender: the messages to send, and the trackable to which an answer belongs.
///
/// An answer counts wherever it arrives first: on the response topic (MQTT 5) or among the trackable's events.
struct CommandSenderState {
    /// An action for the connection.
    enum Action: Equatable {
        case subscribe([String])
        case publish([OutgoingMessage])
        /// Every trackable has answered, or can no longer answer.
        case finish
    }

    /// The outcome of the command at one trackable.
    enum Outcome: Equatable {
        case answered(CommandAnswer)
        /// The broker rejected the command, or both subscriptions to its answer.
        case refused(TrackingError)
    }

    private let root: TopicRoot
    private let client: ClientID
    private let commands: [(id: TrackableID, command: Command)]
    /// The outcomes known so far.
    private(set) var outcomes: [TrackableID: Outcome] = [:]
    /// The trackables whose outcome was not taken yet.
    private var news: [TrackableID] = []

    /// - Parameter commands: One command for each trackable, each with its own id.
    init(root: TopicRoot, client: ClientID, commands: [(id: TrackableID, command: Command)]) {
        self.root = root
        self.client = client
        self.commands = commands
    }

    /// The trackables that have not answered.
    var silent: [TrackableID] { self.commands.map(\.id).filter { self.outcomes[$0] == nil } }

    /// Returns the outcomes that are new since the last call.
    mutating func takeNews() -> [(TrackableID, Outcome)] {
        defer { self.news = [] }
        return self.news.compactMap { id in self.outcomes[id].map { (id, $0) } }
    }

    /// Returns the trackable to which a command message is addressed.
    func trackable(of message: OutgoingMessage) -> TrackableID? {
        guard case .command(let id) = self.root.topic(message.topic) else { return nil }
        return id
    }

    /// The topics of answers: the events and the response topic of each trackable.
    private var filters: [String] {
        self.commands.flatMap { [self.root.path(.event($0.id)), self.root.path(.answer($0.id, self.client))] }
    }

    /// Handles a new connection: the answers are subscribed to first.
    func connected() -> Action { .subscribe(self.filters) }

    /// Handles the answer to the subscription: sends the commands that have no outcome yet. A command that was sent
    /// before keeps its id, so that a device carries it out once.
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

    /// Handles the broker's answer to the command for `id`.
    mutating func published(to id: TrackableID, refusal: TrackingError?) -> [Action] {
        if let refusal { self.learn(id, .refused(refusal)) }
        return self.ifDone
    }

    /// Handles a message. Messages that answer none of these commands are ignored.
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
