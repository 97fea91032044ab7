import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore
import TrackingMQTT
import TrackingSubscriber

/// `godwit publishers`: lists the publishers that the broker knows of, also those that are gone.
struct Publishers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the known publishers of trackables.",
        discussion: """
            A publisher is present, or gone: its connection broke, or its lease ended. A publisher that ended in order \
            is not listed. The time last seen is that of its newest position or heartbeat that this program received. \
            The command waits until the broker's retained messages have arrived, usually 2 s.

            Example:
              godwit publishers
            """)

    @Argument(help: "The ids of the trackables. Default: all.", transform: TrackableID.checked)
    var ids: [TrackableID] = []

    @Option(help: ArgumentHelp("Print text, or json: one object a line.", valueName: "format"))
    var format = ListFormat.text

    @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let found = try await self.found()
        switch self.format {
        case .text: try Output.print(Self.table(found, now: TimeText.now).text(limit: Terminal.tableWidth))
        case .json: try Output.print(found.map(Self.json).joined())
        }
    }

    private func found() async throws -> [KnownPublisher] {
        let identity = try self.broker.identity()
        var configuration = SubscriberConfiguration(client: identity.client, session: identity.session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.isClientRandom = identity.isRandom
        configuration.isSilent = true
        configuration.watchesAll = self.ids.isEmpty
        let subscriber = AssetSubscriber(
            configuration: configuration, transport: try self.broker.transport(for: configuration))
        let events = subscriber.events
        for id in self.ids { subscriber.watch(id) }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await subscriber.run() }
            defer { group.cancelAll() }
            try await Self.waitForRetained(events)
            let found = await subscriber.knownPublishers()
            subscriber.finish()
            try await group.waitForAll()
            return found
        }
    }

    /// Waits until the messages that the broker retains have arrived.
    ///
    /// - Throws: The reason why the broker cannot be reached, or the broker's refusal.
    private static func waitForRetained(_ events: AsyncStream<SubscriberEvent>) async throws {
        for await event in events {
            switch event {
            case .positionsKept: return
            case .refused(_, let refusal): throw refusal
            case .connection(let lost?):
                if let reason = lost.lasted == nil ? lost.failure : lost.reason { throw reason }
            default: break
            }
        }
    }

    static func table(_ publishers: [KnownPublisher], now: UnixTime) -> TextTable {
        var table = TextTable([
            .text("trackable", cutTo: 16), .text("publisher", cutTo: 16), .value("state", .left), .value("last seen"),
            .value("since", .left, omission: 1), .text("metadata", cutTo: 16, omission: 2),
        ])
        for publisher in publishers {
            let state = publisher.isOwner ? "owner" : publisher.isPresent ? "present" : "gone"
            table.append([
                publisher.trackable.rawValue, publisher.client.rawValue, state,
                publisher.lastSeen.map { AgeText.text(now.since($0).inSeconds) } ?? TextTable.none,
                TimeText.localDate(publisher.since), publisher.metadata ?? "",
            ])
        }
        return table
    }

    static func json(_ publisher: KnownPublisher) -> String {
        var members: [String: JSONValue] = [
            "trackable": .text(publisher.trackable.rawValue), "client": .text(publisher.client.rawValue),
            "present": .flag(publisher.isPresent), "owner": .flag(publisher.isOwner),
            "since": .number(publisher.since.seconds),
        ]
        members["lastSeen"] = publisher.lastSeen.map { .number($0.seconds) }
        members["metadata"] = publisher.metadata.map { .text($0) }
        return String(decoding: JSONValue.object(members).json, as: UTF8.self).printableJSON + "\n"
    }
}
