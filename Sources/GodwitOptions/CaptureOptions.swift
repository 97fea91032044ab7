public import ArgumentParser
public import TrackingCore

/// What the device records of what its receiver tells, and what becomes of it before it is sent (`docs/capture.md`).
public struct CaptureOptions: ParsableArguments {
    /// The tracking mode.
    @Option(
        help: ArgumentHelp(
            "How closely to track while nobody asks for more: active (1 s), balanced (15 s, 25 m), passive (120 s, 200 m), custom (--default-resolution).",
            valueName: "mode"))
    public var mode: TrackingMode?

    /// The set of options beneath everything else.
    @Option(
        help: ArgumentHelp(
            "Options to begin with: high-resolution, battery-saving, overland or nextbillion; what is given by itself wins.",
            valueName: "name"))
    public var profile: Profile?

    /// The accuracy, in place of that of the mode.
    @Option(
        help: ArgumentHelp(
            "The accuracy to ask of the receiver: best, 10, 100, 1000 or 3000 metres. Default: that of the mode.",
            valueName: "metres"))
    public var desiredAccuracy: DesiredAccuracy?

    /// The least distance between two records.
    @Option(help: ArgumentHelp("Record only points so many metres from the last one.", valueName: "metres"))
    public var minimumDistance = 0.0

    /// The least time between two records.
    @Option(help: ArgumentHelp("Record only points so many seconds after the last one.", valueName: "seconds"))
    public var minimumTime = 0.0

    /// The largest radius of a record.
    @Option(
        help: ArgumentHelp(
            "Record only points whose radius of accuracy is at most so many metres. Default: no limit.",
            valueName: "metres"))
    public var maximumAccuracyRadius: Double?

    /// What of long ways is recorded.
    @Option(
        help: ArgumentHelp(
            "Record points so many metres from the last one whatever --minimum-time says; only: nothing but points 500 m from it; off.",
            valueName: "metres|only|off"))
    public var significantChange = CaptureFilter.SignificantChange.off

    /// The way that sending waits for.
    @Option(
        name: .customLong("defer"),
        help: ArgumentHelp(
            "Send what was recorded only after so many metres, or ten minutes; 0 is at once.", valueName: "metres"))
    public var deferredDistance = 0.0

    /// What the device is used for.
    @Option(
        help: ArgumentHelp(
            "What for: automotive, fitness, other-navigation, airborne or other. Sets when it stands and what its motions are called.",
            valueName: "activity"))
    public var activity = Activity.other

    /// Whether recording pauses.
    @Option(help: ArgumentHelp("Stop recording where the trackable stands, until it leaves.", valueName: "on|off"))
    public var pause = Switch.off

    /// The radius of a pause.
    @Option(
        help: ArgumentHelp("Standing is staying within so many metres. Default: by --activity.", valueName: "metres"))
    public var pauseRadius: Double?

    /// The time before a pause.
    @Option(
        help: ArgumentHelp("Standing is staying for so many seconds. Default: by --activity.", valueName: "seconds"))
    public var pauseAfter: Double?

    /// Whether stays are told.
    @Flag(help: "Tell each stay as a VISIT event when it is over.")
    public var visits = false

    /// The privacy zones.
    @Option(
        help: ArgumentHelp(
            "Hide positions within RADIUS metres, 10 to 100000: replace shows the centre, omit nothing. Repeatable.",
            valueName: "name,lat,lon,radius[,replace|omit]"))
    public var zone: [PrivacyZone] = []

    /// What becomes of mock positions.
    @Option(help: ArgumentHelp("Positions that no receiver measured: mark or reject.", valueName: "mark|reject"))
    public var mock = MockPolicy.mark

    /// The threshold of the low battery.
    @Option(
        help: ArgumentHelp(
            "Tell a LOW_BATTERY event below this charge; 0 is never. A trackable's --battery-threshold takes its place.",
            valueName: "percent"))
    public var lowBattery = 10.0

    /// The mode of automatic trips.
    @Option(
        help: ArgumentHelp(
            "Begin a trip of this mode on leaving where it stood, and end it by standing. Default: trips are by hand.",
            valueName: "mode"))
    public var automaticTrips: TripMode?

    /// Whether statistics ride along.
    @Flag(
        help: "Add what was asked of the receiver to the 'extra' of each point, and tell STARTED and STOPPING events.")
    public var trackingStats = false

    /// Whether the network's name rides along.
    @Flag(help: "Add the name of the wireless network to the 'extra' of each point.")
    public var wifi = false

    /// Makes options.
    public init() {}

    /// Checks ranges.
    ///
    /// - Throws: `ValidationError` that says which range was left.
    public func validate() throws {
        do throws(TrackingError) {
            _ = try self.captureFilter
            _ = try self.privacyZones
            _ = try self.pauseMachine
            _ = try self.lowBatteryDetector
            _ = try self.deferral
        } catch {
            throw ValidationError(error.message)
        }
    }
}

/// On or off, where a flag could not be switched off again in a higher layer.
public enum Switch: String, Sendable, CaseIterable, ExpressibleByArgument {
    case on
    case off
}
