public import ArgumentParser
public import TrackingCore

/// The filters and state machines for recording positions, made from the values of the capture options.
extension CaptureOptions {
    /// The resolution (accuracy, interval and displacement of positions) while no subscriber requests one. It
    /// comes from `--default-resolution`, else from `--mode`, else it is BALANCED/30000/0. `--desired-accuracy`
    /// replaces the accuracy.
    ///
    /// - Throws: `invalidConfiguration` for a resolution out of range.
    public var resolution: Resolution {
        get throws(TrackingError) {
            let resolution = self.defaultResolution ?? self.mode?.resolution ?? .standard
            guard let desired = self.desiredAccuracy else { return resolution }
            return try Resolution(
                accuracy: desired.accuracy, desiredInterval: resolution.desiredInterval,
                minimumDisplacement: resolution.minimumDisplacement)
        }
    }

    /// The tracking mode (`active`, `balanced`, `passive` or `custom`) to write into each recorded point. It is
    /// `custom` if `--default-resolution` is given, else the value of `--mode`, else `nil`.
    public var modeInForce: TrackingMode? { self.defaultResolution == nil ? self.mode : .custom }

    /// The state machine that decides if a fix from the receiver is recorded, and in which form.
    ///
    /// - Throws: `invalidConfiguration` for a value out of range.
    public var captureMachine: CaptureStateMachine {
        get throws(TrackingError) {
            var configuration = CaptureStateMachine.Configuration()
            configuration.mock = self.mock
            // Fixes with earlier times are wrong: GPS began in 1980, and the sources correct rolled-over GPS weeks
            // before this point.
            configuration.fixFloor = ClockTrust.gpsEpoch.advanced(by: .seconds(1))
            configuration.activity = self.activity
            configuration.pause = try self.pauseMachine
            configuration.reportsVisits = self.visits
            configuration.mode = self.modeInForce
            configuration.stats = self.stats(accuracy: try self.resolution.accuracy)
            return CaptureStateMachine(
                filter: try self.captureFilter, zones: try self.privacyZones, configuration: configuration)
        }
    }

    /// Makes the state machine that begins, measures and ends the trips of one trackable.
    ///
    /// - Parameter seed: The seed of the random numbers in trip ids.
    /// - Throws: `invalidConfiguration` for a value out of range.
    public func trips(seed: UInt64) throws(TrackingError) -> TripStateMachine {
        TripStateMachine(automatic: self.automaticTrips, rest: try self.restDetector, seed: seed)
    }

    /// The filter that decides which fixes of the receiver are recorded, by their distance, time and accuracy.
    public var captureFilter: CaptureFilter {
        get throws(TrackingError) {
            try CaptureFilter(
                minimumDistance: Meters(self.minimumDistance),
                minimumTime: Self.seconds(self.minimumTime, "--minimum-time"),
                maximumAccuracyRadius: self.maximumAccuracyRadius.map { Meters($0) },
                significantChange: self.significantChange)
        }
    }

    /// The detector of a resting trackable: one that has stayed within a radius (metres) for a time. Pauses and
    /// automatic trips use this detector.
    private var restDetector: PauseStateMachine {
        get throws(TrackingError) {
            try PauseStateMachine(
                radius: self.pauseRadius.map { Meters($0) } ?? self.activity.pauseRadius,
                after: self.pauseAfter.map { (seconds) throws(TrackingError) in
                    try Self.seconds(seconds, "--pause-after")
                } ?? self.activity.pauseAfter)
        }
    }

    /// The state machine that pauses recording while the trackable rests; `nil` with `--pause off`.
    public var pauseMachine: PauseStateMachine? {
        get throws(TrackingError) {
            let restDetector = try self.restDetector
            return self.pause == .on ? restDetector : nil
        }
    }

    /// The filter that hides positions inside the privacy zones given with `--zone`.
    public var privacyZones: PrivacyZones {
        get throws(TrackingError) { try PrivacyZones(self.zone) }
    }

    /// The detector for `LOW_BATTERY` events. It finds that the battery's charge has fallen below `--low-battery`. It
    /// applies to trackables without a battery threshold of their own.
    public var lowBatteryDetector: LowBatteryDetector {
        get throws(TrackingError) { try LowBatteryDetector(threshold: self.lowBattery) }
    }

    /// The rule that delays the sending of recorded points until the trackable has moved a distance; `nil` with
    /// `--defer 0`.
    public var deferral: SendDeferral? {
        get throws(TrackingError) {
            self.deferredDistance == 0 ? nil : try SendDeferral(distance: Meters(self.deferredDistance))
        }
    }

    /// Returns the capture settings that are added to each recorded point: pauses, activity, accuracy, deferral and
    /// significant change. Returns `nil` without `--tracking-stats`.
    ///
    /// - Parameter accuracy: The accuracy that the agent requests from the receiver at present.
    public func stats(accuracy: Resolution.Accuracy) -> TrackingStats? {
        guard self.trackingStats else { return nil }
        let desired = self.desiredAccuracy ?? DesiredAccuracy.allCases.first { $0.accuracy == accuracy } ?? .best
        return TrackingStats(
            pauses: self.pause == .on, activity: self.activity, desiredAccuracy: desired,
            deferral: (try? self.deferral)?.distance, significantChange: self.significantChange)
    }

    /// Converts the value of an option, a number of seconds, to a duration. `what` is the name of the option for the
    /// error.
    ///
    /// - Throws: `invalidConfiguration` for a number outside 0…31,536,000 (365 days).
    private static func seconds(_ seconds: Double, _ what: String) throws(TrackingError) -> Duration {
        guard (0...31_536_000).contains(seconds) else {
            throw TrackingError(.invalidConfiguration, "\(what) must be 0 to 31536000 s (365 days), not \(seconds) s")
        }
        return .seconds(seconds)
    }
}

extension TrackingMode: ExpressibleByArgument {
    /// Parses a tracking mode: `active`, `balanced`, `passive` or `custom`, regardless of case. Returns `nil` for any
    /// other text.
    public init?(argument: String) { self.init(rawValue: argument.uppercased()) }
}

extension DesiredAccuracy: ExpressibleByArgument {}
extension Activity: ExpressibleByArgument {}
extension MockPolicy: ExpressibleByArgument {}

extension TripMode: ExpressibleByArgument {
    /// Parses a mode of travel, such as `car` or `walk`: any word of 1 to 64 bytes. Returns `nil` for any other text.
    public init?(argument: String) {
        guard let mode = try? TripMode(argument) else { return nil }
        self = mode
    }

    /// The mode of travel as text, which `--help` shows as a default value.
    public var defaultValueDescription: String { self.rawValue }
}

extension CaptureFilter.SignificantChange: ExpressibleByArgument {
    /// Parses the value of `--significant-change`: a distance in metres above 0, `only` or `off`. Returns `nil` for any
    /// other text.
    public init?(argument: String) {
        switch argument {
        case "off": self = .off
        case "only": self = .only
        default:
            guard let metres = Double(argument), metres > 0, metres.isFinite else { return nil }
            self = .also(Meters(metres))
        }
    }

    /// The value of `--significant-change` as text, which `--help` shows as a default value: a distance in metres,
    /// `only` or `off`.
    public var defaultValueDescription: String {
        switch self {
        case .off: "off"
        case .only: "only"
        case .also(let metres): String(metres.value)
        }
    }
}

/// The text form of a privacy zone as the value of `--zone`: `NAME,LAT,LON,RADIUS[,replace|omit]`, with the centre in
/// degrees and the radius in metres.
extension PrivacyZone: ExpressibleByArgument {
    /// Parses a privacy zone from `NAME,LAT,LON,RADIUS[,replace|omit]`. Returns `nil` for a text of another form and
    /// for a value out of range. A name contains no comma.
    public init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false).map { part in
            String(part.drop { $0 == " " })
        }
        guard parts.count == 4 || parts.count == 5, let latitude = Double(parts[1]), let longitude = Double(parts[2]),
            let radius = Double(parts[3]), let center = Coordinate(latitude: latitude, longitude: longitude),
            let rule = parts.count == 5 ? Rule(rawValue: parts[4]) : .replace,
            let zone = try? PrivacyZone(name: parts[0], center: center, radius: Meters(radius), rule: rule)
        else { return nil }
        self = zone
    }
}
