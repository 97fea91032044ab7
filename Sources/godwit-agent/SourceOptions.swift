import ArgumentParser
import TrackingCore
import TrackingPublisher

/// The options for the sources of positions (receivers, recordings and simulations), and for the source of the
/// battery's charge.
struct SourceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read positions from this source: gpsd://host[:port], nmea:FILE|-|tcp://host:port|/dev/tty…, gpx:FILE, jsonl:FILE|-, mqtt[s]://host/TOPIC, geoclue: or simulate:. Repeatable, each with an optional class: gpsd://host#accuracy=HIGH.",
            valueName: "source"))
    var source: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Replay recorded sources at this multiple of their pace, or as fast as possible (max).", valueName: "n|max",
            visibility: .hidden))
    var speed = "1"

    @Option(
        help: ArgumentHelp(
            "Ask the receiver for this resolution at all times. This does not change which positions are published.",
            valueName: "a/i/d", visibility: .hidden))
    var sensorResolution: Resolution?

    @Flag(
        help: ArgumentHelp(
            "Also publish unfiltered positions, on the topic 'raw' of the trackable.", visibility: .hidden))
    var raw = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Publish predicted positions for this many seconds after the last fix while the source has none, 4 to 3600. Default: not at all.",
            valueName: "seconds", visibility: .hidden))
    var predict: Double?

    @Option(
        help: ArgumentHelp(
            "Read the charge of the battery from auto (this device), none, file:PATH or fixed:PERCENT.",
            valueName: "battery", visibility: .hidden))
    var battery = "auto"

    func validate() throws {
        guard !self.source.isEmpty else {
            throw ValidationError("no source of positions is given. Give --source, for example --source simulate:")
        }
        if let seconds = self.predict, !(4...3_600).contains(seconds) {
            throw ValidationError("--predict must be 4 to 3600 seconds, not \(seconds)")
        }
        do throws(TrackingError) {
            guard try self.specifications().count(where: \.readsStandardInput) < 2 else {
                throw TrackingError(
                    .invalidConfiguration,
                    "two sources read standard input, but only one can. Leave one of nmea:- and jsonl:- out")
            }
            _ = try ReplayPace.parse(self.speed)
            _ = try BatterySpecification.parse(self.battery)
        } catch {
            throw ValidationError(error.message)
        }
    }

    /// Returns the specifications of the sources, parsed from `--source`.
    ///
    /// - Throws: `invalidConfiguration` that names the invalid part of a `--source`.
    func specifications() throws(TrackingError) -> [SourceSpecification] {
        try self.source.map { (text) throws(TrackingError) in try SourceSpecification.parse(text) }
    }

    /// Returns `true` if the publisher may skip fixes that arrive faster than needed. All sources must then be
    /// receivers, and one of them must be unable to send more slowly. Every fix of a recording or a pipe counts.
    ///
    /// - Throws: `invalidConfiguration` that names the invalid part of a `--source`.
    func thinsFixes() throws(TrackingError) -> Bool {
        let specifications = try self.specifications()
        return specifications.contains(where: \.cannotBeSlowed) && specifications.allSatisfy(\.isReceiver)
    }

    /// Returns the class of accuracy of GeoClue if GeoClue and a receiver are among the sources, so that GeoClue can
    /// watch for significant changes while the receiver sleeps; `nil` otherwise.
    ///
    /// - Throws: `invalidConfiguration` that names the invalid part of a `--source`.
    func changeWatchAccuracy() throws(TrackingError) -> Resolution.Accuracy? {
        let specifications = try self.specifications()
        guard specifications.contains(where: { $0.isReceiver && $0.input != .geoClue }) else { return nil }
        return specifications.filter { $0.input == .geoClue }.map(\.accuracy).max()
    }
}
