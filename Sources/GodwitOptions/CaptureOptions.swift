public import ArgumentParser
public import TrackingCore

/// The capture options. They decide which positions the device records, and how it processes them before it sends them
/// (`docs/reference/capture.md`).
public struct CaptureOptions: ParsableArguments {
    /// The tracking mode, which sets how often the device records while no subscriber requests a resolution: `active`,
    /// `balanced`, `passive` or `custom`. `nil` if the option is not given.
    @Option(
        help: ArgumentHelp(
            "Track in this mode while no subscriber requests a resolution: active (1 s), balanced (15 s, 25 m), passive (120 s, 200 m) or custom (--default-resolution).",
            valueName: "mode"))
    public var mode: TrackingMode?

    /// The resolution (accuracy, interval and displacement) to use while no subscriber requests one. It
    /// replaces the resolution of the tracking mode; `nil` for the resolution of the mode.
    @Option(
        help: ArgumentHelp(
            "Use this resolution (accuracy/milliseconds/metres) where no other setting applies. Default: BALANCED/30000/0.",
            valueName: "a/i/d",
            visibility: .hidden))
    public var defaultResolution: Resolution?

    /// The profile, a named set of option values. A value from the command line, the environment or the configuration
    /// file wins over the value of the profile. `nil` for no profile.
    @Option(
        help: ArgumentHelp(
            "Begin with the options of this profile: high-resolution, battery-saving, overland or nextbillion. Options given elsewhere win over the profile.",
            valueName: "name"))
    public var profile: Profile?

    /// The accuracy to request from the receiver, in metres or `best`. It replaces the accuracy of the tracking mode;
    /// `nil` for the accuracy of the mode.
    @Option(
        help: ArgumentHelp(
            "Ask the receiver for this accuracy: best, 10, 100, 1000 or 3000 metres. Default: that of the mode.",
            valueName: "metres", visibility: .hidden))
    public var desiredAccuracy: DesiredAccuracy?

    /// The least distance between two recorded points of a trackable, in metres; 0 for no limit.
    @Option(
        help: ArgumentHelp(
            "Record a point only when it is this many metres from the last one.", valueName: "metres",
            visibility: .hidden))
    public var minimumDistance = 0.0

    /// The least time between two recorded points of a trackable, in seconds; 0 for no limit.
    @Option(
        help: ArgumentHelp(
            "Record a point only this many seconds after the last one.", valueName: "seconds", visibility: .hidden))
    public var minimumTime = 0.0

    /// The largest accuracy radius of a recorded point, in metres; `nil` for no limit.
    @Option(
        help: ArgumentHelp(
            "Record a point only when its accuracy radius is at most this many metres. Default: no limit.",
            valueName: "metres", visibility: .hidden))
    public var maximumAccuracyRadius: Double?

    /// The rule for large distances from the last recorded point. With a distance in metres, a point that far away is
    /// recorded even before the minimum time. With `only`, only points at least 500 m apart are recorded. With `off`,
    /// there is no such rule.
    @Option(
        help: ArgumentHelp(
            "Also record each point this many metres from the last one, even before --minimum-time has passed. only: record only points 500 m apart. off: no such rule.",
            valueName: "metres|only|off", visibility: .hidden))
    public var significantChange = CaptureFilter.SignificantChange.off

    /// The distance in metres that the trackable must move before its recorded points are sent; 0 sends points at once.
    /// Points wait ten minutes at most.
    @Option(
        name: .customLong("defer"),
        help: ArgumentHelp(
            "Send recorded points only after the trackable has moved this many metres, or after ten minutes; 0 sends them at once.",
            valueName: "metres",
            visibility: .hidden))
    public var deferredDistance = 0.0

    /// The use of the device, such as `automotive` or `fitness`. It decides when a trackable counts as resting, and
    /// which kinds of motion (walking, driving …) are distinguished.
    @Option(
        help: ArgumentHelp(
            "Set the activity that the device is used for: automotive, fitness, other-navigation, airborne or other. It decides when the trackable counts as resting and the names of its motions.",
            valueName: "activity", visibility: .hidden))
    public var activity = Activity.other

    /// `on` to pause recording while the trackable rests, until it moves away. The default is `off`.
    @Option(
        help: ArgumentHelp(
            "Stop recording while the trackable rests, until it moves away.", valueName: "on|off", visibility: .hidden))
    public var pause = Switch.off

    /// The radius in metres within which a trackable must stay to count as resting; `nil` for the default radius of
    /// ``activity``.
    @Option(
        help: ArgumentHelp(
            "Count the trackable as resting while it stays within this many metres. Default: by --activity.",
            valueName: "metres",
            visibility: .hidden))
    public var pauseRadius: Double?

    /// The time in seconds for which a trackable must stay to count as resting; `nil` for the default time of
    /// ``activity``.
    @Option(
        help: ArgumentHelp(
            "Count the trackable as resting after it has stayed for this many seconds. Default: by --activity.",
            valueName: "seconds",
            visibility: .hidden))
    public var pauseAfter: Double?

    /// `true` to publish a `VISIT` event each time the trackable leaves a place where it rested.
    @Flag(help: ArgumentHelp("Publish a VISIT event when a stay is over.", visibility: .hidden))
    public var visits = false

    /// The privacy zones: circles in which the positions of the trackable are hidden.
    @Option(
        help: ArgumentHelp(
            "Hide positions in this privacy zone, with a radius of 10 to 100000 metres: replace publishes the centre instead (default), omit publishes no position. Repeatable.",
            valueName: "name,lat,lon,radius[,replace|omit]"))
    public var zone: [PrivacyZone] = []

    /// The treatment of mock positions, which no receiver measured: `mark` marks them as mocks, `reject` drops them.
    @Option(
        help: ArgumentHelp(
            "Mark or reject mock positions, which no receiver measured.", valueName: "mark|reject", visibility: .hidden)
    )
    public var mock = MockPolicy.mark

    /// The charge of the battery, in percent, below which a `LOW_BATTERY` event is published; 0 for never.
    @Option(
        help: ArgumentHelp(
            "Publish a LOW_BATTERY event when the battery's charge falls below this percentage; 0 never. For a trackable with --battery-threshold, that threshold applies instead.",
            valueName: "percent", visibility: .hidden))
    public var lowBattery = 10.0

    /// The mode of travel for automatic trips, which begin when the trackable moves off and end when it rests. `nil`
    /// for no automatic trips: trips then begin and end by command only.
    @Option(
        help: ArgumentHelp(
            "Begin a trip of this mode when the trackable moves off, and end the trip when the trackable rests. Default: trips begin and end by command only.",
            valueName: "mode", visibility: .hidden))
    public var automaticTrips: TripMode?

    /// `true` to add the capture settings in force (requested accuracy, pauses …) to the `extra` of each point. It also
    /// publishes the events `STARTED` and `STOPPING` when tracking starts and ends.
    @Flag(
        help: ArgumentHelp(
            "Add the resolution asked of the receiver to the 'extra' of each point, and publish STARTED and STOPPING events.",
            visibility: .hidden))
    public var trackingStats = false

    /// `true` to add the name of the wireless network to the `extra` member of each point.
    @Flag(
        help: ArgumentHelp(
            "Add the name of the wireless network to the 'extra' of each point.", visibility: .hidden))
    public var wifi = false

    /// Creates the capture options with their default values. The command-line parser then sets the given values.
    public init() {}

    /// Checks that these values of the capture options are in range: the limits of the filter, the zones, the pauses,
    /// the low charge of the battery, and the deferred distance.
    ///
    /// - Throws: `ValidationError` with the violated rule.
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

/// The value, `on` or `off`, of an option with two states. Unlike a flag, such an option can be switched off again, for
/// example on the command line when the configuration file says `on`.
public enum Switch: String, Sendable, CaseIterable, ExpressibleByArgument {
    case on
    case off
}
