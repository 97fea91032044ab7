public import ArgumentParser
public import TrackingCore

/// The deciders that the options describe.
extension CaptureOptions {
    /// What the receiver does while nobody asks for more: `given`, else that of the mode, else the standard one; with the
    /// accuracy asked for.
    public func resolution(given: Resolution?) throws(TrackingError) -> Resolution {
        let resolution = given ?? self.mode?.resolution ?? .standard
        guard let desired = self.desiredAccuracy else { return resolution }
        return try Resolution(
            accuracy: desired.accuracy, desiredInterval: resolution.desiredInterval,
            minimumDisplacement: resolution.minimumDisplacement)
    }

    /// What points say about their mode: `custom` where a resolution was given in place of its figures, `nil` where nothing was.
    public func modeInForce(given: Resolution?) -> TrackingMode? { given == nil ? self.mode : .custom }

    /// What becomes of a fix before it is recorded, with the resolution `given` in place of that of the mode.
    public func machine(given: Resolution?) throws(TrackingError) -> CaptureStateMachine {
        var configuration = CaptureStateMachine.Configuration()
        configuration.mock = self.mock
        // A receiver whose weeks rolled over is corrected before; an old recording through a receiver keeps its times.
        configuration.fixFloor = ClockTrust.gpsEpoch.advanced(by: .seconds(1))
        configuration.activity = self.activity
        configuration.pause = try self.pauseMachine
        configuration.tellsVisits = self.visits
        configuration.mode = self.modeInForce(given: given)
        configuration.stats = self.stats(accuracy: try self.resolution(given: given).accuracy)
        return CaptureStateMachine(
            filter: try self.captureFilter, zones: try self.privacyZones, configuration: configuration)
    }

    /// What begins, measures and ends the trips of a trackable.
    public func trips(seed: UInt64) throws(TrackingError) -> TripStateMachine {
        TripStateMachine(automatic: self.automaticTrips, rest: try self.standing, seed: seed)
    }

    /// The filter before the log.
    public var captureFilter: CaptureFilter {
        get throws(TrackingError) {
            try CaptureFilter(
                minimumDistance: Meters(self.minimumDistance),
                minimumTime: Self.seconds(self.minimumTime, "the minimum time"),
                maximumAccuracyRadius: self.maximumAccuracyRadius.map { Meters($0) },
                significantChange: self.significantChange)
        }
    }

    /// What says that the trackable stands, whether or not recording pauses there.
    public var standing: PauseStateMachine {
        get throws(TrackingError) {
            try PauseStateMachine(
                radius: self.pauseRadius.map { Meters($0) } ?? self.activity.pauseRadius,
                after: self.pauseAfter.map { (seconds) throws(TrackingError) in
                    try Self.seconds(seconds, "the time before a pause")
                } ?? self.activity.pauseAfter)
        }
    }

    /// What pauses recording; `nil` where nothing does.
    public var pauseMachine: PauseStateMachine? {
        get throws(TrackingError) {
            let standing = try self.standing
            return self.pause == .on ? standing : nil
        }
    }

    /// What hides positions.
    public var privacyZones: PrivacyZones {
        get throws(TrackingError) { try PrivacyZones(self.zone) }
    }

    /// What tells a low battery, of trackables without a threshold of their own.
    public var lowBatteryDetector: LowBatteryDetector {
        get throws(TrackingError) { try LowBatteryDetector(threshold: self.lowBattery) }
    }

    /// What holds sending back; `nil` where nothing does.
    public var deferral: SendDeferral? {
        get throws(TrackingError) {
            self.deferredDistance == 0 ? nil : try SendDeferral(distance: Meters(self.deferredDistance))
        }
    }

    /// What rides along with each point; `nil` where nothing does. `accuracy` is the one in force.
    public func stats(accuracy: Resolution.Accuracy) -> TrackingStats? {
        guard self.trackingStats else { return nil }
        let desired = self.desiredAccuracy ?? DesiredAccuracy.allCases.first { $0.accuracy == accuracy } ?? .best
        return TrackingStats(
            pauses: self.pause == .on, activity: self.activity, desiredAccuracy: desired,
            deferral: (try? self.deferral)?.distance, significantChange: self.significantChange)
    }

    /// Seconds of at most 365 days: no number that is finite in the one is too large for the other.
    private static func seconds(_ seconds: Double, _ what: String) throws(TrackingError) -> Duration {
        guard (0...31_536_000).contains(seconds) else {
            throw TrackingError(.invalidConfiguration, "\(what) must be 0 s to 365 days, not \(seconds) s")
        }
        return .seconds(seconds)
    }
}

extension TrackingMode: ExpressibleByArgument {
    /// Reads `active`, `balanced`, `passive` or `custom`; case does not matter.
    public init?(argument: String) { self.init(rawValue: argument.uppercased()) }
}

extension DesiredAccuracy: ExpressibleByArgument {}
extension Activity: ExpressibleByArgument {}
extension MockPolicy: ExpressibleByArgument {}

extension TripMode: ExpressibleByArgument {
    /// Reads a mode of 1 to 64 bytes.
    public init?(argument: String) {
        guard let mode = try? TripMode(argument) else { return nil }
        self = mode
    }

    /// The word.
    public var defaultValueDescription: String { self.rawValue }
}

extension CaptureFilter.SignificantChange: ExpressibleByArgument {
    /// Reads metres above 0, `only` or `off`.
    public init?(argument: String) {
        switch argument {
        case "off": self = .off
        case "only": self = .only
        default:
            guard let metres = Double(argument), metres > 0, metres.isFinite else { return nil }
            self = .also(Meters(metres))
        }
    }

    /// The form that ``init(argument:)`` reads.
    public var defaultValueDescription: String {
        switch self {
        case .off: "off"
        case .only: "only"
        case .also(let metres): String(metres.value)
        }
    }
}

/// `NAME,LAT,LON,RADIUS[,replace|omit]`.
extension PrivacyZone: ExpressibleByArgument {
    /// Reads a zone; `nil` when it is not of that form or out of range. A name has no comma.
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
