public import ArgumentParser
import FoundationEssentials
public import TrackingCore

/// The options for the trackables (the tracked things) and for their resolutions.
public struct TrackableOptions: ParsableArguments {
    /// The ids of the trackables (the things whose positions are published) to track.
    @Option(help: ArgumentHelp("Track this trackable: an id of 1 to 128 bytes. Repeatable.", valueName: "id"))
    public var trackable: [String] = []

    /// The destination of the trackable, in degrees; `nil` for none. The option applies only if a single trackable is
    /// given.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Set the destination of the trackable, in degrees.", valueName: "lat,lon"))
    public var destination: Coordinate?

    /// The distance in metres to the destination below which the trackable counts as near its destination; `nil` if
    /// distance does not count.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Count the trackable as near its destination below this distance (metres).", valueName: "metres"))
    public var proximity: Double?

    /// The time to arrival, in seconds, below which the trackable counts as near its destination; `nil` if time does
    /// not count.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Count the trackable as near its destination below this estimated time to arrival (seconds).",
            valueName: "seconds", visibility: .hidden))
    public var arrival: Double?

    /// The trackable's resolution (accuracy, interval and displacement of its positions), for each case without an
    /// option of its own. The four cases are near or far from the destination, with or without a subscriber. `nil` if
    /// not given.
    @Option(
        help: ArgumentHelp(
            "Set the trackable's resolution: accuracy (MINIMUM LOW BALANCED HIGH MAXIMUM), interval in ms, displacement in metres, as HIGH/1000/1.",
            valueName: "a/i/d"))
    public var resolution: Resolution?

    /// The trackable's resolution (accuracy, interval, displacement) while it is far from its destination and has no
    /// subscriber; `nil` if not given.
    @Option(
        help: ArgumentHelp(
            "Set the resolution far from the destination without a subscriber.", valueName: "a/i/d",
            visibility: .hidden))
    public var resolutionFar: Resolution?

    /// The trackable's resolution (accuracy, interval, displacement) while it is far from its destination and has a
    /// subscriber; `nil` if not given.
    @Option(
        help: ArgumentHelp(
            "Set the resolution far from the destination with a subscriber.", valueName: "a/i/d", visibility: .hidden))
    public var resolutionFarWatched: Resolution?

    /// The trackable's resolution (accuracy, interval, displacement) while it is near its destination and has no
    /// subscriber; `nil` if not given.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Set the resolution near the destination without a subscriber.", valueName: "a/i/d", visibility: .hidden))
    public var resolutionNear: Resolution?

    /// The trackable's resolution (accuracy, interval, displacement) while it is near its destination and has a
    /// subscriber; `nil` if not given.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Set the resolution near the destination with a subscriber.", valueName: "a/i/d", visibility: .hidden))
    public var resolutionNearWatched: Resolution?

    /// The charge of the battery, in percent, below which positions are sent at longer intervals; `nil` for never.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Stretch the interval between positions below this charge of the battery, 0 to 100 percent. Default: 0, never.",
            valueName: "percent",
            visibility: .hidden))
    public var batteryThreshold: Double?

    /// The factor, 1 or more, by which the interval between positions is multiplied while the battery is below its
    /// threshold; `nil` for 1.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Multiply the interval between positions by this factor below --battery-threshold; 1 or more. Default: 1.",
            valueName: "x",
            visibility: .hidden))
    public var lowBatteryMultiplier: Double?

    /// The finest resolution (accuracy, interval, displacement) that a subscriber's request can obtain; `nil` for the
    /// default limit.
    @Option(
        help: ArgumentHelp(
            "Limit subscribers' requests to this resolution or a coarser one. Default: \(Resolution.standardFloor.argumentText).",
            valueName: "a/i/d", visibility: .hidden))
    public var floor: Resolution?

    /// The coarsest resolution (accuracy, interval, displacement) that a subscriber's request can lead to; `nil` for
    /// the default limit.
    @Option(
        help: ArgumentHelp(
            "Limit subscribers' requests to this resolution or a finer one. Default: \(Resolution.standardCeiling.argumentText).",
            valueName: "a/i/d", visibility: .hidden))
    public var ceiling: Resolution?

    /// The rule for sending the next position. `both`: after the interval has passed and the trackable has moved the
    /// displacement. `either`: after one of them.
    @Option(
        help: ArgumentHelp(
            "Send a position after the resolution's interval and its displacement (both), or after one of them (either).",
            valueName: "rule", visibility: .hidden))
    public var filter = FilterRule.both

    /// The longest time, in seconds, between two sent positions: after it, a position is sent even if the trackable
    /// does not move. 0 for no such limit, `nil` for the default.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Send a position after this many seconds even without movement; 0 never. Default: the larger of 60 s and 10 intervals of the trackable's resolution.",
            valueName: "seconds", visibility: .hidden))
    public var maximumSilence: Double?

    /// The text about the trackable that is published to its subscribers; `nil` for none.
    @Option(
        help: ArgumentHelp(
            "Publish this text about the trackable to everyone who watches it: at most 1024 bytes.",
            valueName: "text", visibility: .hidden))
    public var metadata: String?

    /// Creates the trackable options with their default values. The command-line parser then sets the given values.
    public init() {}

    /// The settings that the options give for a trackable. They can apply only if a single trackable is given.
    public var single: TrackableSettings {
        TrackableSettings(
            destination: self.destination, proximity: self.proximity, arrival: self.arrival,
            resolution: self.resolution, resolutionFar: self.resolutionFar,
            resolutionFarWatched: self.resolutionFarWatched, resolutionNear: self.resolutionNear,
            resolutionNearWatched: self.resolutionNearWatched, batteryThreshold: self.batteryThreshold,
            lowBatteryMultiplier: self.lowBatteryMultiplier, floor: self.floor, ceiling: self.ceiling,
            filter: self.filter, maximumSilence: self.maximumSilence, metadata: self.metadata)
    }

    /// Returns the trackables to track, with their settings. They come from the options and from the key `trackables`
    /// of the configuration file.
    ///
    /// - Parameters:
    ///   - file: The configuration file; `nil` for none.
    ///   - one: The single trackable to track instead of the given ones, if the options contain settings for it. `nil`
    ///     to track the given ones.
    /// - Throws: `ValidationError` that names the ambiguous, missing or wrong setting.
    public func settings(
        file: ConfigurationFile?, one: TrackableID? = nil
    ) throws -> [(TrackableID, TrackableSettings)] {
        let listed = try file.map { try TrackableSettings.list($0) } ?? []
        let named = try self.trackable.map { try Self.id($0) }
        let flags = self.single
        if let one, flags != TrackableSettings() { return [(one, flags)] }
        if named.count + listed.count > 1, flags != TrackableSettings() {
            let names = flags.names.map { "--\($0)" }.joined(separator: ", ")
            throw ValidationError(
                "\(named.count + listed.count) trackables are given, but the settings \(names) can apply to one trackable only. Give each trackable its settings under the key 'trackables' of --config"
            )
        }
        guard !(named.isEmpty && listed.isEmpty) else {
            throw ValidationError(
                "no trackable is given. Give --trackable ID, or the key 'trackables' in the file of --config")
        }
        let all =
            named.map { ($0, flags) }
            + listed.map { ($0.0, named.isEmpty && listed.count == 1 && flags != TrackableSettings() ? flags : $0.1) }
        if let twice = Dictionary(grouping: all, by: \.0).first(where: { $0.value.count > 1 })?.key {
            throw ValidationError("the trackable '\(twice)' is given twice. Give it once")
        }
        return all
    }

    static func id(_ text: String) throws -> TrackableID {
        do throws(TrackingError) { return try TrackableID(text) } catch { throw ValidationError(error.message) }
    }
}

/// The settings of one trackable. They come from command-line options, or from an entry of `trackables` in the
/// configuration file.
public struct TrackableSettings: Hashable, Sendable {
    /// The trackable's destination in degrees; `nil` for none.
    public var destination: Coordinate?
    /// The distance in metres to the destination below which the trackable counts as near its destination; `nil` if
    /// distance does not count.
    public var proximity: Double?
    /// The time to arrival, in seconds, below which the trackable counts as near its destination; `nil` if time does
    /// not count.
    public var arrival: Double?
    /// The trackable's resolution (accuracy, interval, displacement), for each case without a setting of its own. The
    /// four cases are near or far from the destination, with or without a subscriber. `nil` if not given.
    public var resolution: Resolution?
    /// The trackable's resolution (accuracy, interval, displacement) while it is far from its destination and has no
    /// subscriber; `nil` if not given.
    public var resolutionFar: Resolution?
    /// The trackable's resolution (accuracy, interval, displacement) while it is far from its destination and has a
    /// subscriber; `nil` if not given.
    public var resolutionFarWatched: Resolution?
    /// The trackable's resolution (accuracy, interval, displacement) while it is near its destination and has no
    /// subscriber; `nil` if not given.
    public var resolutionNear: Resolution?
    /// The trackable's resolution (accuracy, interval, displacement) while it is near its destination and has a
    /// subscriber; `nil` if not given.
    public var resolutionNearWatched: Resolution?
    /// The charge of the battery, in percent, below which positions are sent at longer intervals; `nil` for never.
    public var batteryThreshold: Double?
    /// The factor, 1 or more, by which the interval between positions is multiplied while the battery is below its
    /// threshold; `nil` for 1.
    public var lowBatteryMultiplier: Double?
    /// The finest resolution (accuracy, interval, displacement) that a subscriber's request can obtain; `nil` for the
    /// default limit.
    public var floor: Resolution?
    /// The coarsest resolution (accuracy, interval, displacement) that a subscriber's request can lead to; `nil` for
    /// the default limit.
    public var ceiling: Resolution?
    /// The rule for sending the next position. `both`: after the interval has passed and the trackable has moved the
    /// displacement. `either`: after one of them.
    public var filter = FilterRule.both
    /// The longest time, in seconds, between two sent positions: after it, a position is sent even if the trackable
    /// does not move. 0 for no such limit, `nil` for the default.
    public var maximumSilence: Double?
    /// The text about the trackable that is published to its subscribers; `nil` for none.
    public var metadata: String?

    /// The long names of the options that these settings set to another value than the default. An error message lists
    /// them.
    fileprivate var names: [String] {
        let all: [(String, Bool)] = [
            ("destination", self.destination != nil), ("proximity", self.proximity != nil),
            ("arrival", self.arrival != nil), ("resolution", self.resolution != nil),
            ("resolution-far", self.resolutionFar != nil),
            ("resolution-far-watched", self.resolutionFarWatched != nil),
            ("resolution-near", self.resolutionNear != nil),
            ("resolution-near-watched", self.resolutionNearWatched != nil),
            ("battery-threshold", self.batteryThreshold != nil),
            ("low-battery-multiplier", self.lowBatteryMultiplier != nil), ("floor", self.floor != nil),
            ("ceiling", self.ceiling != nil), ("filter", self.filter != .both),
            ("maximum-silence", self.maximumSilence != nil), ("metadata", self.metadata != nil),
        ]
        return all.filter(\.1).map(\.0)
    }

    /// Returns the longest time between two sent positions of the trackable. `nil` if it is not set; the publisher then
    /// derives it from the trackable's resolution.
    ///
    /// - Throws: `ValidationError` if the number of seconds is not 0 to 1,000,000,000.
    public func silence() throws -> Duration? {
        guard let seconds = self.maximumSilence else { return nil }
        guard (0...1e9).contains(seconds) else {
            throw ValidationError("--maximum-silence must be 0 to 1000000000 seconds, not \(seconds)")
        }
        return .seconds(seconds)
    }

    /// Returns the text about the trackable that is published to its subscribers; `nil` for none.
    ///
    /// - Throws: `ValidationError` if the text is empty or too long, or has characters that are not allowed.
    public func checkedMetadata() throws -> String? {
        guard let metadata = self.metadata, !metadata.isMetadata else { return self.metadata }
        let count = metadata.utf8.count
        let isLengthValid = (1...WireLimits.maximumMetadataBytes).contains(count)
        let found = isLengthValid ? "such a character. Remove it" : "\(count) bytes"
        throw ValidationError("--metadata must be \(WireLimits.metadataRule); found \(found)")
    }

    /// Makes the trackable's constraints: its own resolutions, its thresholds for being near, and its rule for a low
    /// battery. Returns `nil` if none of these is set. A limit for subscribers' requests (`floor`, `ceiling`) alone
    /// makes no constraints.
    ///
    /// - Parameter default: The resolution to use in all cases if the settings give no resolution.
    /// - Throws: `ValidationError` for a value out of range, and for `proximity` without a destination.
    public func constraints(default: Resolution) throws -> ResolutionConstraints? {
        let members = [self.resolutionFar, self.resolutionFarWatched, self.resolutionNear, self.resolutionNearWatched]
        let saysNothing =
            members.allSatisfy { $0 == nil } && self.resolution == nil && self.proximity == nil
            && self.arrival == nil && self.batteryThreshold == nil && self.lowBatteryMultiplier == nil
        guard !saysNothing else { return nil }
        if let arrival = self.arrival, !(arrival > 0 && arrival < 1e9) {
            throw ValidationError("--arrival must be above 0 and below 1000000000 seconds, not \(arrival)")
        }
        if self.proximity != nil, self.destination == nil {
            throw ValidationError("--proximity needs a destination. Give --destination LAT,LON")
        }
        do throws(TrackingError) {
            var set = ResolutionSet(all: self.resolution ?? `default`)
            if self.resolution != nil || members.contains(where: { $0 != nil }) {
                set = try ResolutionSet(
                    farWithoutSubscriber: self.resolutionFar ?? self.resolution,
                    farWithSubscriber: self.resolutionFarWatched ?? self.resolution,
                    nearWithoutSubscriber: self.resolutionNear ?? self.resolution,
                    nearWithSubscriber: self.resolutionNearWatched ?? self.resolution)
            }
            var threshold: ProximityThreshold?
            if self.proximity != nil || self.arrival != nil {
                threshold = try ProximityThreshold(
                    spatial: self.proximity.map { Meters($0) }, temporal: self.arrival.map { .seconds($0) })
            }
            return try ResolutionConstraints(
                resolutions: set, proximityThreshold: threshold, batteryLevelThreshold: self.batteryThreshold ?? 0,
                lowBatteryMultiplier: self.lowBatteryMultiplier ?? 1)
        } catch {
            throw ValidationError(error.message)
        }
    }
}

// MARK: - The file's list

extension TrackableSettings {
    /// The keys that one entry of `trackables` in the configuration file may have.
    static let keys: Set<String> = [
        "id", "destination", "proximity", "arrival", "resolution", "resolution-far", "resolution-far-watched",
        "resolution-near", "resolution-near-watched", "battery-threshold", "low-battery-multiplier", "floor", "ceiling",
        "filter", "maximum-silence", "metadata",
    ]

    /// Reads the list of trackables under the key `trackables` of a configuration file. The list is empty without that
    /// key.
    ///
    /// - Throws: `ValidationError` if the value is not a list of mappings, and for an entry without a valid id, with an
    ///   unknown key or with a value of the wrong form.
    static func list(_ file: ConfigurationFile) throws -> [(TrackableID, TrackableSettings)] {
        guard let key = file["trackables"] else { return [] }
        guard case .list(let entries) = key.value else {
            throw ValidationError("\(file.place(key)) is not a list. Write a list of mappings, each with an 'id'")
        }
        return try entries.enumerated().map { index, entry in
            guard case .mapping(let members) = entry else {
                throw ValidationError(
                    "\(file.place(key)): entry \(index + 1) is not a mapping. Write a mapping with an 'id'")
            }
            return try TrackableReader(file: file, number: index + 1, members: members).read()
        }
    }
}

/// Reads one entry of the key `trackables` in a configuration file.
private struct TrackableReader {
    let file: ConfigurationFile
    let number: Int
    let members: [ConfigurationFile.Entry]

    func read() throws -> (TrackableID, TrackableSettings) {
        if let unknown = self.members.first(where: { !TrackableSettings.keys.contains($0.key) }) {
            throw self.error(
                unknown,
                "is unknown: a trackable has no such option. Write the long name of an option without its dashes, such as 'destination' for --destination"
            )
        }
        guard let id = self.member("id")?.value.text else {
            throw ValidationError(
                "the configuration file '\(self.file.path)': entry \(self.number) of 'trackables' has no 'id', or an 'id' that is not text"
            )
        }
        var settings = TrackableSettings()
        settings.destination = try self.value("destination")
        settings.proximity = try self.value("proximity")
        settings.arrival = try self.value("arrival")
        settings.resolution = try self.value("resolution")
        settings.resolutionFar = try self.value("resolution-far")
        settings.resolutionFarWatched = try self.value("resolution-far-watched")
        settings.resolutionNear = try self.value("resolution-near")
        settings.resolutionNearWatched = try self.value("resolution-near-watched")
        settings.batteryThreshold = try self.value("battery-threshold")
        settings.lowBatteryMultiplier = try self.value("low-battery-multiplier")
        settings.floor = try self.value("floor")
        settings.ceiling = try self.value("ceiling")
        settings.filter = try self.value("filter") ?? .both
        settings.maximumSilence = try self.value("maximum-silence")
        settings.metadata = try self.value("metadata")
        return (try TrackableOptions.id(id), settings)
    }

    private func member(_ key: String) -> ConfigurationFile.Entry? { self.members.first { $0.key == key } }

    private func value<Value: ExpressibleByArgument>(_ key: String) throws -> Value? {
        guard let member = self.member(key) else { return nil }
        guard let text = member.value.text, let value = Value(argument: text) else {
            throw self.error(member, "has a value of the wrong form. See --\(key) in --help-hidden")
        }
        return value
    }

    private func error(_ member: ConfigurationFile.Entry, _ what: String) -> ValidationError {
        ValidationError("\(self.file.place(member)) of entry \(self.number) of 'trackables' \(what)")
    }
}
