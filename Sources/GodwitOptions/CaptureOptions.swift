public import ArgumentParser
public import TrackingCore

/// The options for what the device records, and for what it does before a position is sent (`docs/reference/capture.md`).
public struct CaptureOptions: ParsableArguments {
    /// The tracking mode.
    @Option(
        help: ArgumentHelp(
            "Track in this mode while no subscriber asks for more: active (1 s), balanced (15 s, 25 m), passive (120 s, 200 m) or custom (--default-resolution).",
            valueName: "mode"))
    public var mode: TrackingMode?

    /// The resolution while no subscriber asks for more, in place of that of the mode.
    @Option(
        help: ArgumentHelp(
            "Use this resolution where no other setting applies. Default: BALANCED/30000/0.", valueName: "a/i/d",
            visibility: .hidden))
    public var defaultResolution: Resolution?

    /// The set of options beneath all others.
    @Option(
        help: ArgumentHelp(
            "Begin with the options of this profile: high-resolution, battery-saving, overland or nextbillion. Single options win over it.",
            valueName: "name"))
    public var profile: Profile?

    /// The accuracy to ask of the receiver, in place of that of the mode.
    @Option(
        help: ArgumentHelp(
            "Ask the receiver for this accuracy: best, 10, 100, 1000 or 3000 metres. Default: that of the mode.",
            valueName: "metres", visibility: .hidden))
    public var desiredAccuracy: DesiredAccuracy?

    /// The least distance between two records, in metres.
    @Option(
        help: ArgumentHelp(
            "Record a point only when it is this many metres from the last one.", valueName: "metres",
            visibility: .hidden))
    public var minimumDistance = 0.0

    /// The least time between two records, in seconds.
    @Option(
        help: ArgumentHelp(
            "Record a point only this many seconds after the last one.", valueName: "seconds", visibility: .hidden))
    public var minimumTime = 0.0

    /// The largest accuracy radius of a record, in metres; `nil` is no limit.
    @Option(
        help: ArgumentHelp(
            "Record a point only when its accuracy radius is at most this many metres. Default: no limit.",
            valueName: "metres", visibility: .hidden))
    public var maximumAccuracyRadius: Double?

    /// The rule for points after a long way.
    @Option(
        help: ArgumentHelp(
            "Also record points this many metres from the last one, whatever --minimum-time is; only: record nothing but points 500 m apart; off.",
            valueName: "metres|only|off", visibility: .hidden))
    public var significantChange = CaptureFilter.SignificantChange.off

    /// The distance in metres after which recorded points are sent.
    @Option(
        name: .customLong("defer"),
        help: ArgumentHelp(
            "Send recorded points only after this many metres or ten minutes; 0 sends at once.", valueName: "metres",
            visibility: .hidden))
    public var deferredDistance = 0.0

    /// The use of the device.
    @Option(
        help: ArgumentHelp(
            "Set the use: automotive, fitness, other-navigation, airborne or other. It decides when the trackable rests and the names of its motions.",
            valueName: "activity", visibility: .hidden))
    public var activity = Activity.other

    /// The switch for pauses.
    @Option(
        help: ArgumentHelp(
            "Stop recording while the trackable rests, until it moves away.", valueName: "on|off", visibility: .hidden))
    public var pause = Switch.off

    /// The radius of a rest, in metres; `nil` for that of the activity.
    @Option(
        help: ArgumentHelp(
            "Count as rest: staying within this many metres. Default: by --activity.", valueName: "metres",
            visibility: .hidden))
    public var pauseRadius: Double?

    /// The least time of a rest, in seconds; `nil` for that of the activity.
    @Option(
        help: ArgumentHelp(
            "Count as rest: staying for this many seconds. Default: by --activity.", valueName: "seconds",
            visibility: .hidden))
    public var pauseAfter: Double?

    /// `true` to publish a `VISIT` event after each stay.
    @Flag(help: ArgumentHelp("Publish a VISIT event when a stay is over.", visibility: .hidden))
    public var visits = false

    /// The privacy zones.
    @Option(
        help: ArgumentHelp(
            "Hide positions in this zone, with a radius of 10 to 100000 metres: replace shows the centre, omit shows nothing. Repeatable.",
            valueName: "name,lat,lon,radius[,replace|omit]"))
    public var zone: [PrivacyZone] = []

    /// The rule for positions that no receiver measured.
    @Option(
        help: ArgumentHelp(
            "Mark or reject positions that no receiver measured.", valueName: "mark|reject", visibility: .hidden))
    public var mock = MockPolicy.mark

    /// The charge in percent below which a `LOW_BATTERY` event is published.
    @Option(
        help: ArgumentHelp(
            "Publish a LOW_BATTERY event below this charge; 0 never. --battery-threshold replaces it for a trackable.",
            valueName: "percent", visibility: .hidden))
    public var lowBattery = 10.0

    /// The mode of automatic trips; `nil` for trips by command only.
    @Option(
        help: ArgumentHelp(
            "Begin a trip of this mode when the trackable moves off, and end it when the trackable rests. Default: only by command.",
            valueName: "mode", visibility: .hidden))
    public var automaticTrips: TripMode?

    /// `true` to add figures about the receiver to each point.
    @Flag(
        help: ArgumentHelp(
            "Add the resolution asked of the receiver to the 'extra' of each point, and publish STARTED and STOPPING events.",
            visibility: .hidden))
    public var trackingStats = false

    /// `true` to add the wireless network's name to each point.
    @Flag(
        help: ArgumentHelp(
            "Add the name of the wireless network to the 'extra' of each point.", visibility: .hidden))
    public var wifi = false

    /// Creates the options with their defaults; the parser sets the values.
    public init() {}

    /// Checks the ranges.
    ///
    /// - Throws: `ValidationError` that names the value and its range.
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

/// On or off. A flag would not do: a higher layer could not turn it off again.
public enum Switch: String, Sendable, CaseIterable, ExpressibleByArgument {
    case on
    case off
}
