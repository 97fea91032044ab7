import ArgumentParser
import FoundationEssentials
import GodwitOptions
import Logging
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// `godwit-agent run`: tracks trackables and publishes their positions, until the program is stopped, its last source
/// ends, or an error ends it.
struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Track trackables and publish their positions.",
        discussion: """
            The options below are enough for most devices; --help-hidden shows all of them. At the end of a recorded \
            source, the program sends all records and ends with exit code 0. While the broker refuses the device \
            (wrong password, not authorised), the agent tries again after up to 15 minutes, unless --fail-fast is \
            given. Several trackables with settings of their own go under the key 'trackables' of --config.

            Example:
              godwit-agent run --trackable van-7 --source gpsd://127.0.0.1:2947
            """)

    @OptionGroup(title: "Trackable") var trackables: TrackableOptions

    @OptionGroup(title: "Source of positions") var input: SourceOptions

    @OptionGroup(title: "Recording") var capture: CaptureOptions

    @OptionGroup(title: "Log and acknowledgement") var recording: RecordingOptions

    @OptionGroup(title: "Server in place of a broker") var forwarding: ForwardOptions

    @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

    @OptionGroup(title: "Commands and events") var controls: ControlOptions

    func validate() throws {
        try self.checkForwarding()
        if self.input.raw, self.recording.live == .off {
            throw ValidationError(
                "--raw publishes positions live, and --live off prevents this. Leave one of the two options out")
        }
    }

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let given = try LayeredArguments.values(
            Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment,
            for: GodwitAgent.self)
        try await Program.run(try RunningAgent(given: given))
    }

    /// Makes the publisher's configuration that these options describe.
    ///
    /// - Throws: `ValidationError` or `TrackingError` that names the invalid option and the rule for its values.
    func configuration(for identity: Identity) throws -> PublisherConfiguration {
        var configuration = PublisherConfiguration(client: identity.client, session: identity.session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.defaultResolution = try self.capture.resolution
        configuration.capture = try self.capture.captureMachine
        configuration.thinsFixes = try self.input.thinsFixes()
        configuration.restsReceiver = try self.input.specifications().allSatisfy(\.isReceiver)
        configuration.changeWatchAccuracy = try self.input.changeWatchAccuracy()
        configuration.trips = try self.capture.trips(seed: 0)
        configuration.deferral = try self.capture.deferral
        configuration.recordsLifecycle = self.capture.trackingStats
        configuration.lowBattery = try self.capture.lowBatteryDetector
        configuration.sensorResolution = self.input.sensorResolution
        configuration.sendsRawLocations = self.input.raw
        configuration.predictsFor = self.input.predict.map { .seconds($0) }
        configuration.takesCommands = self.controls.allowCommands.map { $0 != .off } ?? false
        configuration.isClientRandom = identity.isRandom
        try self.recording.apply(to: &configuration)
        // A position that is published live leaves the log, but a server gets the log alone.
        if self.forwarding.forward != nil { configuration.sendsLive = false }
        return configuration
    }

    /// Makes the publisher's trackable from an id and the settings for it.
    ///
    /// - Throws: `ValidationError` that names the setting whose value is out of range.
    func trackable(_ id: TrackableID, _ settings: TrackableSettings) throws -> Trackable {
        var trackable = Trackable(id)
        trackable.destination = settings.destination
        trackable.constraints = try settings.constraints(default: try self.capture.resolution)
        trackable.floor = settings.floor
        trackable.ceiling = settings.ceiling
        trackable.filter = settings.filter
        trackable.maximumSilence = try settings.silence()
        trackable.metadata = try settings.checkedMetadata()
        return trackable
    }
}
