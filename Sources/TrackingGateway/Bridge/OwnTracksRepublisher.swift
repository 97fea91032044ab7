package import TrackingCore

/// Decides which positions of Godwit's trackables the bridge publishes on OwnTracks' topics, and which trackables it
/// announces to Home Assistant.
///
/// A device that publishes on OwnTracks' topics itself is not republished there, because its positions came from there.
package struct OwnTracksRepublisher: Sendable {
    /// The settings by which the bridge republishes positions for OwnTracks and announces trackables to Home Assistant.
    package struct Configuration: Sendable {
        /// The OwnTracks topics, and the user under which the bridge publishes. Without a user the bridge publishes
        /// nothing on OwnTracks' topics.
        package var reader: OwnTracksReader.Configuration
        /// The name of the bridge, which each republished message contains. By this name the bridge recognises retained
        /// messages of its earlier runs.
        package var name: String
        /// The root of the topics on which Godwit's publishers and subscribers exchange messages.
        package var topicRoot = TopicRoot.standard
        /// The settings of the announcements to Home Assistant; `nil` to announce no trackable.
        package var discovery: HomeAssistantDiscovery?
        /// The largest number of trackables that the bridge republishes or announces. Further trackables are reported
        /// and ignored.
        package var maximumTrackables = 10_000

        /// Creates the settings of the republishing from the settings of the OwnTracks topics and the bridge's name.
        /// The other settings have their default values.
        package init(reader: OwnTracksReader.Configuration, name: String) {
            self.reader = reader
            self.name = name
        }
    }

    /// An action that the bridge has decided on. ``OwnTracksSender`` performs it.
    package enum Action: Hashable, Sendable {
        /// Pass these commands to the connection to the broker, in order. A command publishes a message, for example.
        case send([TransportCommand])
        /// Report a message on this topic that is invalid, or whose trackable exceeds the largest number of trackables.
        case skipped(topic: String, TrackingError)
        /// Report that the broker rejected a message on this topic, or a subscription to it.
        case refused(topic: String, TrackingError)
    }

    private struct Trackable: Hashable {
        var order = UpdateOrder()
        var isAnnounced = false
        /// `true` if the broker retains an announcement of the trackable for Home Assistant, of this run or an earlier
        /// one.
        var isDiscovered = false
        /// `true` if the device of the trackable itself publishes on OwnTracks' topics. The bridge then does not
        /// republish the trackable's positions there.
        var isTheirs = false
        /// `true` if the broker retains a message of the bridge that repeats the trackable's position for OwnTracks.
        var isOut = false
    }

    private let configuration: Configuration
    private let reader: OwnTracksReader
    private var trackables: [TrackableID: Trackable] = [:]
    /// The trackables with a position that arrived on the bridge's present connection to the broker. It is `nil`
    /// without a connection, and again after ``receivedRetained(on:)`` has used the set.
    private var kept: Set<TrackableID>?
    /// The number of the bridge's present connection to the broker, or of the last one while there is none. The
    /// transport numbers its connections from 0; before the first one, the value is 0 too.
    package private(set) var connection = 0

    /// The wait of ten seconds after the broker granted the subscriptions. After this wait, all retained messages are
    /// assumed to have arrived.
    package static let keptAfter: Duration = .seconds(10)
    private var outgoing = NewestMessages()

    /// Creates the republisher of positions for OwnTracks and Home Assistant, before it knows any trackable.
    package init(_ configuration: Configuration) {
        self.configuration = configuration
        self.reader = OwnTracksReader(configuration.reader)
    }

    /// The topic filters to subscribe to. OwnTracks' topics come first, so that their retained messages are known
    /// before the bridge republishes positions. Without an OwnTracks user for the bridge, OwnTracks' topics are not
    /// included.
    package var filters: [String] {
        let theirs = self.configuration.reader.outUser == nil ? [] : [self.configuration.reader.topics.positions]
        let discovery = self.configuration.discovery.map { [$0.filter] } ?? []
        return theirs + discovery + [self.configuration.topicRoot.path(.everyLocation)]
    }

    /// Handles an event of the bridge's connection to the broker.
    ///
    /// - Returns: The actions that ``OwnTracksSender`` must perform, in order.
    package mutating func happened(_ event: TransportEvent) -> [Action] {
        switch event {
        case .connected(let connection, _, _):
            self.connection = connection
            self.kept = []
            // The broker may have lost its retained messages, so each trackable is announced again with its next
            // position.
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

    /// Clears the bridge's messages about trackables that no longer have a retained position at the broker, for example
    /// after `godwit erase`.
    ///
    /// The caller calls this method when the time ``keptAfter`` has passed since the broker granted the subscriptions. By
    /// then the retained positions have arrived.
    ///
    /// - Parameter connection: The number of the connection on which the subscriptions were granted.
    package mutating func receivedRetained(on connection: Int) -> [Action] {
        guard connection == self.connection, let kept = self.kept.take() else { return [] }
        let gone = self.trackables.filter { id, trackable in
            !kept.contains(id) && (trackable.isOut || trackable.isAnnounced || trackable.isDiscovered)
        }
        return self.send(gone.keys.sorted().flatMap { self.cleared($0) })
    }

    // MARK: Received messages

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

    /// Handles a message on an OwnTracks topic for the positions of a device. A device or a bridge published the
    /// message.
    ///
    /// If a device published the message, the bridge clears the position that it republished for this device's
    /// trackable. If an earlier run of this bridge published the message under another user, the bridge clears it.
    private mutating func receivedForeign(_ message: IncomingMessage) throws(TrackingError) -> [OutgoingMessage] {
        guard let place = self.configuration.reader.topics.place(message.topic), place.part == nil else { return [] }
        if place.user == self.configuration.reader.outUser {
            guard let id = TrackableID(topicLevel: place.device) else { return [] }
            if !message.payload.isEmpty { try self.know(id) }
            self.trackables[id]?.isOut = !message.payload.isEmpty
            // A trackable without any published message is forgotten.
            if self.trackables[id] == Trackable() { self.trackables[id] = nil }
            return self.withdrawn(id)
        }
        guard !message.payload.isEmpty else { return [] }
        guard !OwnTracksReader.isMarked(message.payload) else {
            // A retained message that an earlier run of this bridge published under another user is cleared. A message
            // that is not retained comes from another bridge.
            guard message.isRetained, self.isOwn(message.payload) else { return [] }
            return [OutgoingMessage(topic: message.topic, payload: [], isRetained: true)]
        }
        let id = try self.reader.trackable(of: place)
        try self.know(id)
        self.trackables[id]?.isTheirs = true
        return self.withdrawn(id)
    }

    /// Returns `true` for the payload of a message that this bridge published, in this run or an earlier one.
    private func isOwn(_ payload: ArraySlice<UInt8>) -> Bool {
        (try? JSONValue(json: payload))?["_by"]?.text == self.configuration.name
    }

    /// Handles a message on the topic that announces a trackable to Home Assistant. Stores whether the broker retains
    /// an announcement, so that it can be cleared together with the trackable's position.
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
                .overloaded,
                "cannot republish trackable '\(id)': the bridge has \(self.configuration.maximumTrackables) trackables, which is the limit. Clear the positions of trackables that are no longer used, for example with godwit erase"
            )
        }
        self.trackables[id] = Trackable()
    }

    /// Handles a new position of a trackable, or the empty message that clears it. Returns the messages to publish for
    /// OwnTracks and Home Assistant.
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

/// A queue of messages to publish. On each topic at most one message is being published and one message waits. A newer
/// message replaces the waiting one, which is then never sent.
struct NewestMessages: Sendable {
    private var isConnected = false
    private var lastToken: TransportToken = 0
    /// The messages that were published but not acknowledged or rejected by the broker yet, by their tokens.
    private var sent: [TransportToken: OutgoingMessage] = [:]
    /// The topics on which a message is published but not yet acknowledged or rejected by the broker.
    private var busy: Set<String> = []
    private var waiting: [String: OutgoingMessage] = [:]

    /// Adds a message to the queue. Returns the command that publishes the message; `nil` if the message must wait for
    /// the connection or for an earlier message on its topic.
    mutating func put(_ message: OutgoingMessage) -> TransportCommand? {
        guard self.isConnected, !self.busy.contains(message.topic) else {
            self.waiting[message.topic] = message
            return nil
        }
        return self.send(message)
    }

    /// Handles a new connection to the broker. Returns the commands that publish the waiting messages.
    mutating func connected() -> [TransportCommand] {
        self.isConnected = true
        let messages = self.waiting.values.sorted { $0.topic < $1.topic }
        self.waiting = [:]
        return messages.map { self.send($0) }
    }

    /// Handles the loss of the connection to the broker. A message that the broker did not answer waits again, unless a
    /// newer message on its topic already waits.
    mutating func disconnected() {
        self.isConnected = false
        for message in self.sent.values where self.waiting[message.topic] == nil {
            self.waiting[message.topic] = message
        }
        self.sent = [:]
        self.busy = []
    }

    /// Handles the broker's answer to a published message.
    ///
    /// - Returns: The topic of the message, and the command that publishes the next message on this topic; `nil` for an
    ///   unknown token.
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
