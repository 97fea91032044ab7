import ArgumentParser
import GodwitOptions
import Logging
import ServiceLifecycle
import TrackingCore
import TrackingGateway
import TrackingRules
import TrackingMQTT

/// `godwit bridge`: connects Godwit with programs that use other protocols on the same MQTT broker.
struct Bridge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Exchange positions with programs of other protocols on the same broker.",
        discussion: """
            Example:
              godwit bridge owntracks --out godwit
            """,
        subcommands: [OwnTracks.self])
}

extension Bridge {
    /// `godwit bridge owntracks`: exchanges positions with OwnTracks by MQTT.
    struct OwnTracks: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "owntracks",
            abstract: "Receive positions from OwnTracks by MQTT, and optionally publish positions to it.",
            discussion: """
                A phone's message is acknowledged once its records are safe. With --out, the bridge publishes \
                positions as OwnTracks messages; with --home-assistant, it announces trackables to Home Assistant.

                Example:
                  godwit bridge owntracks --out godwit
                """)

        @Option(
            help: ArgumentHelp(
                "Receive OwnTracks messages on topics that begin with these 1 to 4 levels, before user and device.",
                valueName: "levels"))
        var owntracksRoot = "owntracks"

        @Option(
            help: ArgumentHelp(
                "Read the trackables of devices from this JSON file: {\"user/device\": \"trackable\"}. Default: USER-DEVICE.",
                valueName: "path"))
        var map: String?

        @OptionGroup var keys: OwnTracksKeyOptions

        @Option(
            help: ArgumentHelp(
                "Publish positions as this OwnTracks user, with one device for each trackable. Messages of this user are not received. Default: publish no positions.",
                valueName: "user"))
        var out: String?

        @Flag(help: "Announce every trackable to Home Assistant by MQTT discovery.")
        var homeAssistant = false

        @Flag(
            help:
                "Sign in each connection as the user of its own name (NAME, NAME-owntracks and NAME-out) with the same password, for brokers that use the user name as the client id."
        )
        var userPerConnection = false

        @OptionGroup(title: "Bridge data") var state: StateOptions
        @OptionGroup(title: "Acknowledgement") var intake: IntakeOptions
        @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

        func validate() throws {
            _ = try checked { () throws(TrackingError) in try OwnTracksTopics(root: self.owntracksRoot) }
            if let user = self.out, !OwnTracksTopics.isLevel(user) || user.utf8.count > 100 {
                throw ValidationError(
                    "--out must be one level of a topic: 1 to 100 bytes without / + # $; not '\(user.prefix(80))'")
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
            let database = try GatewayDatabase(at: try self.state.database())
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

        /// Makes the part of the bridge that publishes messages for OwnTracks and Home Assistant; returns `nil` if
        /// neither `--out` nor `--home-assistant` is given.
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
                transport: try self.broker.transport(client, user: self.user(of: client), remedy: self.remedy),
                failsFast: self.broker.failFast)
        }

        /// Returns the client id of one of the bridge's connections: the bridge's name, a hyphen, and the given part.
        private func client(_ part: String) throws(TrackingError) -> ClientID {
            let identity = try self.broker.identity()
            return try ClientID("\(identity.isRandom ? "bridge" : identity.client.rawValue)-\(part)")
        }

        /// Advice for the error that the bridge's connections end each other because they share one user at the broker.
        /// `nil` if each connection has a user of its own, or if the connections have neither a user nor a certificate.
        private var remedy: String? {
            self.userPerConnection
                ? nil : self.broker.sharedUserRemedy("--user-per-connection (broker/add-bridge makes the users)")
        }

        private func user(of client: ClientID) -> String? { self.userPerConnection ? client.rawValue : nil }

        /// Reads the file of `--map`, which assigns a trackable to each OwnTracks device, named `user/device`.
        static func trackables(in path: String) throws(TrackingError) -> [String: TrackableID] {
            let data = try InputFile.contents(of: path)
            guard let members = try? JSONValue(json: data).object else {
                throw TrackingError(
                    .inputUnreadable,
                    "cannot read the devices in '\(path)'. The file must be a JSON object: {\"user/device\": \"trackable\"}"
                )
            }
            var trackables: [String: TrackableID] = [:]
            for (device, value) in members {
                guard let id = value.text, device.split(separator: "/").count == 2 else {
                    throw TrackingError(
                        .invalidConfiguration,
                        "the entry '\(device.prefix(80))' of the OwnTracks devices in '\(path)' is invalid. An entry must be \"user/device\": \"trackable\""
                    )
                }
                trackables[device] = try TrackableID(id)
            }
            return trackables
        }
    }
}
