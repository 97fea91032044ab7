package import TrackingCore

/// Decides what of our positions goes out: to OwnTracks' topics, and as Home Assistant's discovery.
///
/// The devices that are on OwnTracks' topics themselves are left out there: their positions came from them.
package struct OwnTracksRepublisher: Sendable {
    /// The settings of the bridge.
    package struct Configuration: Sendable {
        /// The OwnTracks topics, and the user under which the bridge publishes. Without a user it publishes nothing
        /// there.
        package var reader: OwnTracksReader.Configuration
        /// The bridge's name in its messages. It identifies messages of an earlier run, which are cleared.
        package var name: String
        /// The root of Godwit's topics.
        package var topicRoot = TopicRoot.standard
        /// The topics of Home Assistant's discovery; `nil` for no announcements.
        package var discovery: HomeAssistantDiscovery?
        /// The most trackables; further ones are reported and left alone.
        package var maximumTrackables = 10_000

        /// Makes a configuration with the defaults above.
        package init(reader: OwnTracksReader.Configuration, name: String) {
            self.reader = reader
            self.name = name
        }
    }

    /// An action for the caller to carry out.
    package enum Action: Hashable, Sendable {
        /// Send these commands to the connection.
        case send([TransportCommand])
        /// Report an unreadable message, or a trackable beyond the limit.
        case skipped(topic: String, TrackingError)
        /// Report that the broker refuses a publish on this topic, or a subscription to it.
        case refused(topic: String, TrackingError)
    }

    private struct Trackable: Hashable {
        var order = UpdateOrder()
        var isAnnounced = false
        /// `true` if the broker has a retained announcement, of this run or an earlier one.
        var isDiscovered = false
        /// `true` if the device itself publishes on OwnTracks' topics.
        var isTheirs = false
        /// `true` if the broker has a retained position that the bridge republished.
        var isOut = false
    }

    private let configuration: Configuration
    private let reader: OwnTracksReader
    private var trackables: [TrackableID: Trackable] = [:]
    /// Those of which a position came on this connection; `nil` once that was compared with what is out.
    private var kept: Set<TrackableID>?
    /// Counts the connections.
    package private(set) var connection = 0

    /// The time after the subscriptions within which all retained messages arrive.
    package static let keptAfter: Duration = .seconds(10)
    private var outgoing = NewestMessages()

    /// Makes a bridge that knows no trackable yet.
    package init(_ configuration: Configuration) {
        self.configuration = configuration
        self.reader = OwnTracksReader(configuration.reader)
    }

    /// The filters to subscribe to. OwnTracks' topics come first, so that their retained messages are known before the
    /// bridge republishes positions.
    package var filters: [String] {
        let theirs = self.configuration.reader.outUser == nil ? [] : [self.configuration.reader.topics.positions]
        let discovery = self.configuration.discovery.map { [$0.filter] } ?? []
        return theirs + discovery + [self.configuration.topicRoot.path(.everyLocation)]
    }

    /// Something happened on the connection.
    package mutating func happened(_ event: TransportEvent) -> [Action] {
        switch event {
        case .connected(let connection, _):
            self.connection = connection
            self.kept = []
            // The broker may have lost what it kept: each is made known again with its next position.
            for id in self.trackables.keys { self.trackables[id]?.isAnnounced = false }
            return [.send([.subscribe(self.filters, 0)] + self.outgoing.connected())]
        case .disconnected:
            self.kept = nil
            self.outgoing.disconnected()
            return []
        case .subscribed(_, let refusals):
            return zip(self.filters, refusals).compactMap { filter, error in
                error.map { .refused(topic: filter, $0) }
            }
        case .published(let token, let refusal):
            guard let (topic, commands) = self.outgoing.answered(token) else { return [] }
            return (refusal.map { [.refused(topic: topic, $0)] } ?? []) + (commands.isEmpty ? [] : [.send(commands)])
        case .received(let message):
            return self.received(message)
        }
    }

    /// ``keptAfter`` passed since the broker granted what is listened to: what is out of trackables of which it keeps no
    /// position any more, as after `godwit erase`, is cleared.
    package mutating func receivedRetained(on connection: Int) -> [Action] {
        guard connection == self.connection, let kept = self.kept.take() else { return [] }
        let gone = self.trackables.filter { id, trackable in
            !kept.contains(id) && (trackable.isOut || trackable.isAnnounced || trackable.isDiscovered)
        }
        return self.send(gone.keys.sorted().flatMap { self.cleared($0) })
    }

    // MARK: What comes

    private mutating func received(_ message: IncomingMessage) -> [Action] {
        do throws(TrackingError) {
            if case .location(let id)? = self.configuration.topicRoot.topic(message.topic) {
                let messages = try self.moved(id, message.payload)
                if message.payload.isEmpty {
                    self.kept?.remove(id)
                } else if self.trackables[id] != nil {
                    self.kept?.insert(id)
                }
                return self.send(messages)
            }
            if let id = self.configuration.discovery?.trackable(of: message.topic) {
                return try self.receivedAnnouncement(of: id, isThere: !message.payload.isEmpty)
            }
            return self.send(try self.receivedForeign(message))
        } catch {
            return [.skipped(topic: message.topic, error)]
        }
    }

    /// A position of theirs, or one that went out: what went out of a device that is there itself is cleared, also where that
    /// was before a restart.
    private mutating func receivedForeign(_ message: IncomingMessage) throws(TrackingError) -> [OutgoingMessage] {
        guard let place = self.configuration.reader.topics.place(message.topic), place.part == nil else { return [] }
        if place.user == self.configuration.reader.outUser {
            guard let id = TrackableID(topicLevel: place.device) else { return [] }
            if !message.payload.isEmpty { try self.know(id) }
            self.trackables[id]?.isOut = !message.payload.isEmpty
            // Of what was cleared nothing is kept.
            if self.trackables[id] == Trackable() { self.trackables[id] = nil }
            return self.withdrawn(id)
        }
        guard !message.payload.isEmpty else { return [] }
        guard !OwnTracksReader.isMarked(message.payload) else {
            // A retained message of an earlier run under another user is cleared. A live message has another sender.
            guard message.isRetained, self.isOwn(message.payload) else { return [] }
            return [OutgoingMessage(topic: message.topic, payload: [], isRetained: true)]
        }
        let id = try self.reader.trackable(of: place)
        try self.know(id)
        self.trackables[id]?.isTheirs = true
        return self.withdrawn(id)
    }

    /// Returns `true` for a message of this bridge.
    private func isOwn(_ payload: ArraySlice<UInt8>) -> Bool {
        (try? JSONValue(json: payload))?["_by"]?.text == self.configuration.name
    }

    /// Records an announcement of an earlier run, so that it is cleared with the trackable.
    private mutating func receivedAnnouncement(of id: TrackableID, isThere: Bool) throws(TrackingError) -> [Action] {
        if isThere { try self.know(id) }
        self.trackables[id]?.isDiscovered = isThere
        if self.trackables[id] == Trackable() { self.trackables[id] = nil }
        return []
    }

    private mutating func withdrawn(_ id: TrackableID) -> [OutgoingMessage] {
        guard let trackable = self.trackables[id], trackable.isTheirs, trackable.isOut, let topic = self.topic(of: id)
        else { return [] }
        self.trackables[id]?.isOut = false
        return [OutgoingMessage(topic: topic, payload: [], isRetained: true)]
    }

    private mutating func know(_ id: TrackableID) throws(TrackingError) {
        guard self.trackables[id] == nil else { return }
        guard self.trackables.count < self.configuration.maximumTrackables else {
            throw TrackingError(
                .overloaded, "a bridge republishes at most \(self.configuration.maximumTrackables) trackables")
        }
        self.trackables[id] = Trackable()
    }

    /// Returns the messages to publish after a trackable moved or its position was cleared.
    private mutating func moved(
        _ id: TrackableID, _ payload: ArraySlice<UInt8>
    ) throws(TrackingError) -> [OutgoingMessage] {
        guard !payload.isEmpty else { return self.cleared(id) }
        let update = try LocationCodec.decode(payload)
        try self.know(id)
        var messages: [OutgoingMessage] = []
        if let discovery = self.configuration.discovery, self.trackables[id]?.isAnnounced == false {
            self.trackables[id]?.isAnnounced = true
            messages.append(discovery.announcement(of: id))
        }
        if let topic = self.topic(of: id), self.trackables[id]?.isTheirs == false, update.kind == .actual,
            self.trackables[id]?.order.consider(update) == .current
        {
            self.trackables[id]?.isOut = true
            messages.append(
                OutgoingMessage(
                    topic: topic, payload: update.location.ownTracksMessage(of: id, by: self.configuration.name).json,
                    isRetained: true))
        }
        return messages
    }

    private mutating func cleared(_ id: TrackableID) -> [OutgoingMessage] {
        guard let trackable = self.trackables.removeValue(forKey: id) else { return [] }
        if trackable.isTheirs { self.trackables[id] = Trackable(isTheirs: true) }
        let position = trackable.isTheirs ? nil : self.topic(of: id)
        let isKnown = trackable.isAnnounced || trackable.isDiscovered
        let discovery = isKnown ? self.configuration.discovery?.topic(of: id) : nil
        return [position, discovery].compactMap(\.self).map {
            OutgoingMessage(topic: $0, payload: [], isRetained: true)
        }
    }

    private func topic(of id: TrackableID) -> String? {
        self.configuration.reader.outUser.map {
            self.configuration.reader.topics.path(user: $0, device: id.topicLevel)
        }
    }

    private mutating func send(_ messages: [OutgoingMessage]) -> [Action] {
        let commands = messages.compactMap { self.outgoing.put($0) }
        return commands.isEmpty ? [] : [.send(commands)]
    }
}

/// The newest message of each topic, on its way to the broker: one at a time a topic, and what was overtaken meanwhile is
/// never sent.
struct NewestMessages: Sendable {
    private var isConnected = false
    private var lastToken: TransportToken = 0
    /// The messages that await the broker's answer.
    private var sent: [TransportToken: OutgoingMessage] = [:]
    /// The topics of the sent messages.
    private var busy: Set<String> = []
    private var waiting: [String: OutgoingMessage] = [:]

    /// One more; what is to be asked now.
    mutating func put(_ message: OutgoingMessage) -> TransportCommand? {
        guard self.isConnected, !self.busy.contains(message.topic) else {
            self.waiting[message.topic] = message
            return nil
        }
        return self.send(message)
    }

    /// The connection stands: what waited goes out.
    mutating func connected() -> [TransportCommand] {
        self.isConnected = true
        let messages = self.waiting.values.sorted { $0.topic < $1.topic }
        self.waiting = [:]
        return messages.map { self.send($0) }
    }

    /// The connection is gone: what was not answered waits again, unless something newer does.
    mutating func disconnected() {
        self.isConnected = false
        for message in self.sent.values where self.waiting[message.topic] == nil {
            self.waiting[message.topic] = message
        }
        self.sent = [:]
        self.busy = []
    }

    /// The broker answered; the message's topic, and what goes out there next. `nil` for what is not known.
    mutating func answered(_ token: TransportToken) -> (topic: String, [TransportCommand])? {
        guard let topic = self.sent.removeValue(forKey: token)?.topic else { return nil }
        self.busy.remove(topic)
        return (topic, self.waiting.removeValue(forKey: topic).map { [self.send($0)] } ?? [])
    }

    private mutating func send(_ message: OutgoingMessage) -> TransportCommand {
        self.lastToken += 1
        self.sent[self.lastToken] = message
        self.busy.insert(message.topic)
        return .publish(message, self.lastToken)
    }
}
