import ArgumentParser
import GodwitOptions
import Logging
import ServiceLifecycle
import TrackingCore
import TrackingGateway
import TrackingMQTT

/// `godwit bridge`: between Godwit and what speaks another language on the same broker.
struct Bridge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Take in and let out what others publish and read on the same broker.",
        subcommands: [OwnTracks.self])
}

extension Bridge {
    /// `godwit bridge owntracks`.
    struct OwnTracks: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "owntracks",
            abstract: "Take in what OwnTracks publishes by MQTT; on request let our positions out.",
            discussion: """
                A phone's message is acknowledged once its records are safe. Positions go out as OwnTracks' own (--out), and \
                trackables are made known to Home Assistant (--home-assistant).
                """)

        @Option(help: ArgumentHelp("The levels above OwnTracks' users and devices.", valueName: "levels"))
        var owntracksRoot = "owntracks"

        @Option(
            help: ArgumentHelp(
                "A JSON file with the trackables of devices: {\"user/device\": \"trackable\"}. Others are USER-DEVICE.",
                valueName: "path"))
        var map: String?

        @OptionGroup var keys: OwnTracksKeyOptions

        @Option(
            help: ArgumentHelp(
                "Publish our positions as this user's, a device a trackable. Nothing of this user is taken in. Default: not at all.",
                valueName: "user"))
        var out: String?

        @Flag(help: "Make every trackable known to Home Assistant, by its MQTT discovery.")
        var homeAssistant = false

        @Flag(
            help:
                "Sign in each connection as the user of its own name, NAME, NAME-owntracks and NAME-out, with the same password; where the broker makes the user name the client id."
        )
        var userPerConnection = false

        @OptionGroup var state: StateOptions
        @OptionGroup var intake: IntakeOptions
        @OptionGroup var broker: BrokerOptions

        func validate() throws {
            _ = try checked { () throws(TrackingError) in try OwnTracksTopics(root: self.owntracksRoot) }
            if let user = self.out, !OwnTracksTopics.isLevel(user) || user.utf8.count > 100 {
                throw ValidationError(
                    "--out is one level of a topic, 1 to 100 bytes without / + # $; not '\(user.prefix(80))'")
            }
        }

        func run() async throws {
            Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
            let lock = try self.state.lock("bridge", for: "godwit bridge owntracks")
            defer { withExtendedLifetime(lock) {} }
            try await Program.run(OwnTracksBridge(try self.parts()))
        }

        private func parts() throws -> [any Service] {
            let reader = try self.reader()
            let intake = try self.intake.intake(self.broker, self.state, name: "bridge", remedy: self.remedy)
            let database = try GatewayDatabase(path: try self.state.path(for: "gateway.sqlite"))
            let receiving = try self.client("owntracks")
            let transport = try self.broker.intake(
                receiving, receiveMaximum: 100, user: self.user(of: receiving), certificate: nil, key: nil,
                remedy: self.remedy)
            let receiver = OwnTracksReceiver(
                reader: OwnTracksReader(reader), transport: transport, quarantine: Quarantine(database: database),
                failsFast: self.broker.failFast,
                take: { (id, batch, patience) throws(TrackingError) in
                    try await intake.take(id, batch, within: patience)
                })
            return [intake, receiver] + (try self.sender(reader).map { [$0] } ?? [])
        }

        private func reader() throws -> OwnTracksReader.Configuration {
            var reader = OwnTracksReader.Configuration(topics: try OwnTracksTopics(root: self.owntracksRoot))
            if let path = self.map { reader.trackables = try Self.trackables(in: path) }
            reader.secrets = try self.keys.secrets()
            reader.outUser = self.out
            return reader
        }

        /// What lets positions out; `nil` where nothing is to go out.
        private func sender(_ reader: OwnTracksReader.Configuration) throws -> OwnTracksSender<MQTTTransport>? {
            guard self.out != nil || self.homeAssistant else { return nil }
            let client = try self.client("out")
            var configuration = OwnTracksRepublisher.Configuration(reader: reader, name: client.rawValue)
            configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
            if self.homeAssistant {
                configuration.discovery = HomeAssistantDiscovery(topicRoot: configuration.topicRoot)
            }
            return OwnTracksSender(
                configuration: configuration,
                transport: try self.broker.transport(client, user: self.user(of: client), remedy: self.remedy))
        }

        /// The name of one of the connections: the bridge's, with this behind it.
        private func client(_ part: String) throws(TrackingError) -> ClientID {
            let identity = try self.broker.identity()
            return try ClientID("\(identity.isRandom ? "bridge" : identity.client.rawValue)-\(part)")
        }

        /// The remedy where all connections have the same user; `nil` where each has its own.
        private var remedy: String? {
            self.userPerConnection
                ? nil : self.broker.sharedUserRemedy("--user-per-connection (broker/add-bridge makes the users)")
        }

        private func user(of client: ClientID) -> String? { self.userPerConnection ? client.rawValue : nil }

        /// Reads a file of devices.
        static func trackables(in path: String) throws(TrackingError) -> [String: TrackableID] {
            let data = try InputFile.contents(of: path)
            guard let members = try? JSONValue(json: data).object else {
                throw TrackingError(
                    .inputUnreadable,
                    "the devices in '\(path)' cannot be read: the file must be a JSON object of \"user/device\" and trackables"
                )
            }
            var trackables: [String: TrackableID] = [:]
            for (device, value) in members {
                guard let id = value.text, device.split(separator: "/").count == 2 else {
                    throw TrackingError(
                        .invalidConfiguration,
                        "'\(device.prefix(80))' in '\(path)' must be \"user/device\" with a trackable as text")
                }
                trackables[device] = try TrackableID(id)
            }
            return trackables
        }
    }
}
