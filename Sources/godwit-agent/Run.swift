import ArgumentParser
import FoundationEssentials
import GodwitOptions
import Logging
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// `godwit-agent run`: until it is stopped, or its finite source ends.
struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Carry trackables and publish their positions.",
        discussion: """
            When a finite source ends, everything sent is acknowledged, the presence is withdrawn, and the exit code is 0. \
            While the broker refuses this device (wrong password, not authorised) it is tried again with waits up to 15 \
            minutes, unless --fail-fast is given. Several trackables with settings of their own go under the key \
            'trackables' of --config.
            """)

    @OptionGroup var trackables: TrackableOptions

    @OptionGroup var broker: BrokerOptions

    @OptionGroup var recording: RecordingOptions

    @OptionGroup var capture: CaptureOptions

    @OptionGroup var controls: ControlOptions

    @Option(
        help: ArgumentHelp(
            "Where fixes come from: gpsd://host[:port], nmea:FILE|-|tcp://host:port|/dev/tty…, gpx:FILE, jsonl:FILE|-, simulate:. Repeatable, each with an optional class: gpsd://host#accuracy=HIGH.",
            valueName: "source"))
    var source: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Replay recorded sources at this many times their pace, or max.", valueName: "n|max"))
    var speed = "1"

    @Option(
        help: ArgumentHelp("The resolution where nothing else is said. Default: BALANCED/30000/0.", valueName: "a/i/d"))
    var defaultResolution: Resolution?

    @Option(help: ArgumentHelp("A constant resolution for the receiver; filters stay as they are.", valueName: "a/i/d"))
    var sensorResolution: Resolution?

    @Flag(help: "Also publish positions as the receiver told them, on the raw topic.")
    var raw = false

    @Option(help: ArgumentHelp("The battery: auto, none, file:PATH or fixed:PERCENT.", valueName: "battery"))
    var battery = "auto"

    @Option(
        help: ArgumentHelp(
            "A program that reads each event on its standard input, as one line of JSON; words between spaces, no shell.",
            valueName: "command"))
    var notify: NotifyCommand?

    func validate() throws {
        if self.raw, self.recording.live == .off {
            throw ValidationError("--raw sends positions live, and --live off does not; leave one of them out")
        }
        guard !self.source.isEmpty else {
            throw ValidationError("where fixes come from is missing: give --source, for example --source simulate:")
        }
        do throws(TrackingError) {
            let sources = try self.source.map { (text) throws(TrackingError) in try SourceSpecification.parse(text) }
            guard sources.count(where: \.readsStandardInput) < 2 else {
                throw TrackingError(
                    .invalidConfiguration, "two sources read standard input; leave one of nmea:- and jsonl:- out")
            }
            _ = try ReplayPace.parse(self.speed)
            _ = try BatterySpecification.parse(self.battery)
        } catch {
            throw ValidationError(error.message)
        }
    }

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let given = try LayeredArguments.values(
            Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment,
            for: GodwitAgent.self)
        try await Program.run(try RunningAgent(given: given))
    }

    /// The publisher's configuration.
    ///
    /// - Throws: What the rules of its parts say.
    func configuration(for identity: Identity) throws -> PublisherConfiguration {
        var configuration = PublisherConfiguration(client: identity.client, session: identity.session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.defaultResolution = try self.capture.resolution(given: self.defaultResolution)
        configuration.capture = try self.capture.machine(given: self.defaultResolution)
        // Of recordings, and what comes through a pipe, every fix is accounted for.
        let sources = try self.source.map { try SourceSpecification.parse($0) }
        configuration.thinsFixes = sources.contains(where: \.cannotBeSlowed) && sources.allSatisfy(\.isReceiver)
        configuration.trips = try self.capture.trips(seed: 0)
        configuration.deferral = try self.capture.deferral
        configuration.tellsLifecycle = self.capture.trackingStats
        configuration.lowBattery = try self.capture.lowBatteryDetector
        configuration.sensorResolution = self.sensorResolution
        configuration.sendsRawLocations = self.raw
        configuration.takesCommands = self.controls.allowCommands.map { $0 != .off } ?? false
        configuration.isClientRandom = identity.isRandom
        try self.recording.apply(to: &configuration)
        return configuration
    }

    /// A trackable with these settings.
    ///
    /// - Throws: `ValidationError` that says which range was left.
    func trackable(_ id: TrackableID, _ settings: TrackableSettings) throws -> Trackable {
        var trackable = Trackable(id)
        trackable.destination = settings.destination
        trackable.constraints = try settings.constraints(
            default: try self.capture.resolution(given: self.defaultResolution))
        trackable.floor = settings.floor
        trackable.ceiling = settings.ceiling
        trackable.filter = settings.filter
        trackable.maximumSilence = try settings.silence()
        return trackable
    }
}
