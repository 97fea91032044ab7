import TrackingCore

/// Decides for a ``CommandSender`` which messages to publish, and to which trackable a received answer belongs.
///
/// An answer can arrive twice: on the response topic (MQTT 5) and as an event of the trackable. The first one counts.
struct CommandSenderState {
    /// An action that the program must perform on its connection to the broker.
    enum Action: Equatable {
        case subscribe([String])
        case publish([OutgoingMessage])
        /// Close the connection to the broker, because the outcome of every command is known or the connection cannot
        /// be used.
        case finish
    }

    /// The outcome of the command that was sent for one trackable.
    enum Outcome: Equatable {
        case answered(CommandAnswer)
        /// The broker rejected the command, or it rejected both subscriptions on which the answer could arrive. The
        /// value is the reason.
        case refused(TrackingError)
    }

    private let root: TopicRoot
    private let client: ClientID
    private let commands: [(id: TrackableID, command: Command)]
    /// The outcomes of the commands that are known so far, by trackable.
    private(set) var outcomes: [TrackableID: Outcome] = [:]
    /// The trackables whose command has an outcome that ``takeNews()`` has not returned yet.
    private var news: [TrackableID] = []

    /// Creates a state in which no command has been sent yet.
    ///
    /// - Parameter commands: The commands to send, one for each trackable. Each has an id of its own.
    init(root: TopicRoot, client: ClientID, commands: [(id: TrackableID, command: Command)]) {
        self.root = root
        self.client = client
        self.commands = commands
    }

    /// The trackables whose outcome is not known yet, because no answer or rejection arrived.
    var silent: [TrackableID] { self.commands.map(\.id).filter { self.outcomes[$0] == nil } }

    /// Returns the outcomes of commands that became known since the last call of this method.
    mutating func takeNews() -> [(TrackableID, Outcome)] {
        defer { self.news = [] }
        return self.news.compactMap { id in self.outcomes[id].map { (id, $0) } }
    }

    /// Returns the trackable to whose command topic a message is published; `nil` for any other topic.
    func trackable(of message: OutgoingMessage) -> TrackableID? {
        guard case .command(let id) = self.root.topic(message.topic) else { return nil }
        return id
    }

    /// The topics on which answers can arrive: for each trackable, the topic of its events and the response topic.
    private var filters: [String] {
        self.commands.flatMap { [self.root.path(.event($0.id)), self.root.path(.answer($0.id, self.client))] }
    }

    /// Handles a new connection to the broker. Returns the action that subscribes to the topics on which the devices
    /// answer. The commands are published only after the broker has answered this subscription.
    func connected() -> Action { .subscribe(self.filters) }

    /// Handles the broker's answer to the subscription of the topics on which the devices answer. Returns the action
    /// that publishes the commands whose outcome is not known yet. A command that is published again after a new
    /// connection has the same id, so that a device performs it only once.
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

    /// Handles the broker's answer to the published command for the trackable `id`. `nil` means that the broker
    /// accepted the command. With a reason, the rejection becomes the command's outcome.
    mutating func published(to id: TrackableID, refusal: TrackingError?) -> [Action] {
        if let refusal { self.learn(id, .refused(refusal)) }
        return self.ifDone
    }

    /// Handles a received message. A message that does not answer one of the sent commands is ignored.
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
