public import ArgumentParser
import FoundationEssentials
public import TrackingCore

/// What is carried, and at which resolutions.
public struct TrackableOptions: ParsableArguments {
    /// The ids.
    @Option(help: ArgumentHelp("What this device carries: 1 to 128 bytes. Repeatable.", valueName: "id"))
    public var trackable: [String] = []

    /// The destination.
    @Option(parsing: .unconditional, help: ArgumentHelp("Where it goes, in degrees.", valueName: "lat,lon"))
    public var destination: Coordinate?

    /// The distance below which it is near.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Near the destination below this distance in metres.", valueName: "metres"))
    public var proximity: Double?

    /// The time to arrival below which it is near.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Near the destination below this time to arrival in seconds.", valueName: "seconds"))
    public var arrival: Double?

    /// All four members of the resolution set.
    @Option(
        help: ArgumentHelp(
            "The trackable's own resolution: accuracy (MINIMUM LOW BALANCED HIGH MAXIMUM), interval in ms, displacement in metres.",
            valueName: "a/i/d"))
    public var resolution: Resolution?

    /// Far, nobody watching.
    @Option(help: ArgumentHelp("Far from the destination, nobody watching.", valueName: "a/i/d"))
    public var resolutionFar: Resolution?

    /// Far, watched.
    @Option(help: ArgumentHelp("Far from the destination, watched.", valueName: "a/i/d"))
    public var resolutionFarWatched: Resolution?

    /// Near, nobody watching.
    @Option(parsing: .unconditional, help: ArgumentHelp("Near the destination, nobody watching.", valueName: "a/i/d"))
    public var resolutionNear: Resolution?

    /// Near, watched.
    @Option(parsing: .unconditional, help: ArgumentHelp("Near the destination, watched.", valueName: "a/i/d"))
    public var resolutionNearWatched: Resolution?

    /// The battery threshold.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Below this charge the interval is stretched; 0 to 100. Default: 0, never.", valueName: "percent"))
    public var batteryThreshold: Double?

    /// The multiplier of the interval below the battery threshold.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "What the interval is multiplied with below the threshold; 1 or more. Default: 1.", valueName: "x"))
    public var lowBatteryMultiplier: Double?

    /// The finest resolution that a request can reach.
    @Option(
        help: ArgumentHelp(
            "Limit requests to this resolution or a coarser one. Default: \(Resolution.standardFloor.argumentText).",
            valueName: "a/i/d"))
    public var floor: Resolution?

    /// The coarsest resolution that a request can reach.
    @Option(
        help: ArgumentHelp(
            "Limit requests to this resolution or a finer one. Default: \(Resolution.standardCeiling.argumentText).",
            valueName: "a/i/d"))
    public var ceiling: Resolution?

    /// The rule of the update filter.
    @Option(
        help: ArgumentHelp(
            "Send when interval and displacement are reached (both), or one of them (either).", valueName: "rule"))
    public var filter = FilterRule.both

    /// The longest silence.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Send after this long even when nothing moves; 0 is never. Default: the larger of 60 s and 10 intervals of its own resolution.",
            valueName: "seconds"))
    public var maximumSilence: Double?

    /// Made by the parser.
    public init() {}

    /// The flags that only make sense for a single trackable.
    public var single: TrackableSettings {
        TrackableSettings(
            destination: self.destination, proximity: self.proximity, arrival: self.arrival,
            resolution: self.resolution, resolutionFar: self.resolutionFar,
            resolutionFarWatched: self.resolutionFarWatched, resolutionNear: self.resolutionNear,
            resolutionNearWatched: self.resolutionNearWatched, batteryThreshold: self.batteryThreshold,
            lowBatteryMultiplier: self.lowBatteryMultiplier, floor: self.floor, ceiling: self.ceiling,
            filter: self.filter, maximumSilence: self.maximumSilence)
    }

    /// What is carried: the flags for a single trackable, or the file's `trackables:`.
    ///
    /// - Parameter one: The only one that is carried in place of all that are given, which the flags mean then; `nil`: what is
    ///   given is carried.
    /// - Throws: `ValidationError` that says what is ambiguous, missing or out of range.
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
                "\(named.count + listed.count) trackables are given, and it is ambiguous which of them is meant by \(names); give each its own under the key 'trackables' of --config"
            )
        }
        guard !(named.isEmpty && listed.isEmpty) else {
            throw ValidationError(
                "what is carried is missing: give --trackable ID, or the key 'trackables' in --config")
        }
        let all =
            named.map { ($0, flags) }
            + listed.map { ($0.0, named.isEmpty && listed.count == 1 && flags != TrackableSettings() ? flags : $0.1) }
        if let twice = Dictionary(grouping: all, by: \.0).first(where: { $0.value.count > 1 })?.key {
            throw ValidationError("the trackable '\(twice)' is given twice")
        }
        return all
    }

    static func id(_ text: String) throws -> TrackableID {
        do throws(TrackingError) { return try TrackableID(text) } catch { throw ValidationError(error.message) }
    }
}

/// The settings of one trackable, from flags or from the file.
public struct TrackableSettings: Hashable, Sendable {
    /// See ``TrackableOptions/destination``.
    public var destination: Coordinate?
    /// Metres.
    public var proximity: Double?
    /// Seconds.
    public var arrival: Double?
    /// All four members.
    public var resolution: Resolution?
    /// Far, nobody watching.
    public var resolutionFar: Resolution?
    /// Far, watched.
    public var resolutionFarWatched: Resolution?
    /// Near, nobody watching.
    public var resolutionNear: Resolution?
    /// Near, watched.
    public var resolutionNearWatched: Resolution?
    /// Percent.
    public var batteryThreshold: Double?
    /// 1 or more.
    public var lowBatteryMultiplier: Double?
    /// The finest resolution that a request can reach.
    public var floor: Resolution?
    /// The coarsest resolution that a request can reach.
    public var ceiling: Resolution?
    /// The rule of the update filter.
    public var filter = FilterRule.both
    /// Seconds; 0 is never.
    public var maximumSilence: Double?

    /// The options that are given, by their long names.
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
            ("maximum-silence", self.maximumSilence != nil),
        ]
        return all.filter(\.1).map(\.0)
    }

    /// The longest silence; `nil` where it follows the trackable's own resolution.
    ///
    /// - Throws: `ValidationError` for a value out of range.
    public func silence() throws -> Duration? {
        guard let seconds = self.maximumSilence else { return nil }
        guard (0...1e9).contains(seconds) else {
            throw ValidationError("--maximum-silence must be 0 to 1000000000 seconds, not \(seconds)")
        }
        return .seconds(seconds)
    }

    /// The constraints that these settings make; `nil` when they say nothing of resolution, battery or proximity. A floor or a
    /// ceiling alone makes none: each limits requests and nothing else.
    ///
    /// - Throws: `ValidationError` for values out of range.
    public func constraints(default: Resolution) throws -> ResolutionConstraints? {
        let members = [self.resolutionFar, self.resolutionFarWatched, self.resolutionNear, self.resolutionNearWatched]
        let saysNothing =
            members.allSatisfy { $0 == nil } && self.resolution == nil && self.proximity == nil
            && self.arrival == nil && self.batteryThreshold == nil && self.lowBatteryMultiplier == nil
        guard !saysNothing else { return nil }
        if let arrival = self.arrival, !(arrival > 0 && arrival < 1e9) {
            throw ValidationError("--arrival must be above 0 seconds, not \(arrival)")
        }
        if self.proximity ?? self.arrival != nil, self.destination == nil {
            throw ValidationError("--proximity and --arrival need a --destination")
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
    /// The keys of one entry.
    static let keys: Set<String> = [
        "id", "destination", "proximity", "arrival", "resolution", "resolution-far", "resolution-far-watched",
        "resolution-near", "resolution-near-watched", "battery-threshold", "low-battery-multiplier", "floor", "ceiling",
        "filter", "maximum-silence",
    ]

    /// Reads the key `trackables` of a configuration file.
    ///
    /// - Throws: `ValidationError` that names the key, its line and the entry.
    static func list(_ file: ConfigurationFile) throws -> [(TrackableID, TrackableSettings)] {
        guard let key = file["trackables"] else { return [] }
        guard case .list(let entries) = key.value else { throw ValidationError("\(file.place(key)) must be a list") }
        return try entries.enumerated().map { index, entry in
            guard case .mapping(let members) = entry else {
                throw ValidationError("\(file.place(key)): entry \(index + 1) must be a mapping with an 'id'")
            }
            return try TrackableReader(file: file, number: index + 1, members: members).read()
        }
    }
}

/// Reads one entry of `trackables`.
private struct TrackableReader {
    let file: ConfigurationFile
    let number: Int
    let members: [ConfigurationFile.Entry]

    func read() throws -> (TrackableID, TrackableSettings) {
        if let unknown = self.members.first(where: { !TrackableSettings.keys.contains($0.key) }) {
            throw self.error(unknown, "is unknown")
        }
        guard let id = self.member("id")?.value.text else {
            throw ValidationError("'\(self.file.path)': entry \(self.number) of 'trackables' has no 'id'")
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
        return (try TrackableOptions.id(id), settings)
    }

    private func member(_ key: String) -> ConfigurationFile.Entry? { self.members.first { $0.key == key } }

    private func value<Value: ExpressibleByArgument>(_ key: String) throws -> Value? {
        guard let member = self.member(key) else { return nil }
        guard let text = member.value.text, let value = Value(argument: text) else {
            throw self.error(member, "cannot be read; see the option --\(key)")
        }
        return value
    }

    private func error(_ member: ConfigurationFile.Entry, _ what: String) -> ValidationError {
        ValidationError("\(self.file.place(member)) of entry \(self.number) of 'trackables' \(what)")
    }
}
