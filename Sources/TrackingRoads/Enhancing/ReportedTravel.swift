import TrackingCore

/// The means of travel of one trackable, by the kinds of motion that its device reports.
///
/// Many devices derive the motion from the speed, so they report a car in slow traffic as cycling. Therefore a trackable
/// counts as a car for ``memory`` after it reported driving.
struct ReportedTravel: Hashable, Sendable {
    /// The time for which a report of driving decides about the means of travel: 10 minutes.
    static let memory = Duration.seconds(600)

    private var motion: [Motion] = []
    /// The time of the last fix that reported driving; `nil` if it was more than ``memory`` ago.
    private var lastDriven: UnixTime?

    /// Handles the motion of the newest fix.
    mutating func moved(_ fix: Location) {
        self.motion = fix.motion
        if fix.motion.contains(.driving) {
            self.lastDriven = fix.time
        } else if let last = self.lastDriven, fix.time.since(last) > Self.memory {
            self.lastDriven = nil
        }
    }

    /// The means of travel: `auto` unless the device reports cycling, walking or running, and has not driven recently.
    var profile: TravelProfile { self.lastDriven == nil ? TravelProfile(motion: self.motion) : .auto }
}
