import TrackingCore

/// Decides how a command reaches its trackables and which answer is whose; touches no connection and no clock.
///
/// Answers are taken from wherever they come first: the response topic (MQTT 5), or the trackable's events.
struct CommandSenderState {
    /// What is to be done.
    enum Action: Equatable {
        case subscribe([String])
        case publish([OutgoingMessage])
        /// Everybody has answered, or can not any more.
        case finish
    }

    /// What became of the command at one trackable.
    enum Outcome: Equatable {
        case answered(CommandAnswer)
        /// The broker did not take the command, or not the wish for answers.
        case refused(TrackingError)
    }

    private let root: TopicRoot
    private let client: ClientID
    private let commands: [(id: TrackableID, command: Command)]
    /// What is known so far.
    private(set) var outcomes: [TrackableID: Outcome] = [:]
    /// What was learned since it was last asked for.
    private var news: [TrackableID] = []

    /// - Parameter commands: One a trackable, each with an id of its own.
    init(root: TopicRoot, client: ClientID, commands: [(id: TrackableID, command: Command)]) {
        self.root = root
        self.client = client
        self.commands = commands
    }

    /// The trackables that have not answered.
    var silent: [TrackableID] { self.commands.map(\.id).filter { self.outcomes[$0] == nil } }

    /// The outcomes that were learned since the last call.
    mutating func takeNews() -> [(TrackableID, Outcome)] {
        defer { self.news = [] }
        return self.news.compactMap { id in self.outcomes[id].map { (id, $0) } }
    }

    /// Whose command a message is.
    func trackable(of message: OutgoingMessage) -> TrackableID? {
        guard case .command(let id) = self.root.topic(message.topic) else { return nil }
        return id
    }

    /// The filters that answers come by, two a trackable.
    private var filters: [String] {
        self.commands.flatMap { [self.root.path(.event($0.id)), self.root.path(.answer($0.id, self.client))] }
    }

    /// A connection stands: answers are asked for before anything is sent, anew on each.
    func connected() -> Action { .subscribe(self.filters) }

    /// The broker answered the subscription. What was sent on an earlier connection is sent again, with the same id: it is
    /// carried out once.
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

    /// The broker answered a publish to `id`.
    mutating func published(to id: TrackableID, refusal: TrackingError?) -> [Action] {
        if let refusal { self.learn(id, .refused(refusal)) }
        return self.ifDone
    }

    /// A message arrived; what is no answer to one of these commands is passed over.
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
