/// A circle in which the trackable's positions are hidden.
public struct PrivacyZone: Hashable, Sendable {
    /// The treatment of positions inside a zone.
    public enum Rule: String, Hashable, Sendable, CaseIterable {
        /// Replace the position by the zone's centre, and remove all measurements.
        case replace
        /// Record and send nothing.
        case omit
    }

    /// The zone's name in events: 1 to 64 bytes without control characters and without characters that change the
    /// direction of text.
    public let name: String
    /// The centre, which replaces positions inside the zone.
    public let center: Coordinate
    /// The radius, 10 m to 100 km.
    public let radius: Meters
    /// The treatment of positions inside.
    public let rule: Rule

    /// Makes a zone.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` that names the violated range.
    public init(name: String, center: Coordinate, radius: Meters, rule: Rule = .replace) throws(TrackingError) {
        guard (1...64).contains(name.utf8.count) else {
            throw TrackingError(
                .invalidConfiguration, "a zone's name has 1 to 64 bytes; this one has \(name.utf8.count)")
        }
        guard name.isPlainText else {
            throw TrackingError(
                .invalidConfiguration,
                "a zone's name must not contain control characters or characters that change the direction of text")
        }
        guard (10...100_000).contains(radius.value) else {
            throw TrackingError(
                .invalidConfiguration, "the radius of zone '\(name)' must be 10 to 100000 m, not \(radius.value)")
        }
        self.name = name
        self.center = center
        self.radius = radius
        self.rule = rule
    }

    /// The distance beyond the radius, in metres, that counts as having left the zone: a tenth of the radius, at least
    /// 10 m.
    var margin: Double { max(10, self.radius.value / 10) }
}

/// Hides positions inside privacy zones (`docs/reference/capture.md`, "Zones"). Every position passes this filter
/// before any other part of the device records, sends or logs it, also for trips, events and predictions.
public struct PrivacyZones: Hashable, Sendable {
    /// The result of filtering a fix.
    public struct Verdict: Hashable, Sendable {
        /// The position that may be shown: the fix itself, or the centre of a zone; `nil` when none may be shown.
        public var location: Location?
        /// The zones entered and left, in the order of the zones, as events. They contain names, never positions.
        public var crossings: [Happening]
    }

    /// The maximum number of zones.
    public static let maximumCount = 256

    /// The zones in their configured order.
    public let zones: [PrivacyZone]
    private var inside: Set<Int> = []

    /// Makes a filter that has not processed a fix yet.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when there are more than ``maximumCount`` zones, or two
    ///   have the same name.
    public init(_ zones: [PrivacyZone] = []) throws(TrackingError) {
        guard zones.count <= Self.maximumCount else {
            throw TrackingError(
                .invalidConfiguration,
                "there are \(zones.count) privacy zones; at most \(Self.maximumCount) are allowed")
        }
        var names: Set<String> = []
        for zone in zones where !names.insert(zone.name).inserted {
            throw TrackingError(.invalidConfiguration, "two privacy zones have the name '\(zone.name)'; rename one")
        }
        self.zones = zones
    }

    /// `true` when the last fix was inside a zone.
    public var isInside: Bool { !self.inside.isEmpty }

    /// Copies the set of occupied zones from the filter that this filter replaces. Zones are matched by name.
    mutating func goOn(from other: PrivacyZones) {
        let names = Set(other.inside.map { other.zones[$0].name })
        self.inside = Set(self.zones.indices.filter { names.contains(self.zones[$0].name) })
    }

    /// Filters a fix, and detects zones that the trackable entered or left.
    public mutating func moved(_ fix: Location) -> Verdict {
        guard !self.zones.isEmpty else { return Verdict(location: fix, crossings: []) }
        var crossings: [Happening] = []
        for (index, zone) in self.zones.enumerated() {
            let wasInside = self.inside.contains(index)
            let isInside = self.holds(zone, fix, wasInside: wasInside)
            guard wasInside != isInside else { continue }
            if isInside { self.inside.insert(index) } else { self.inside.remove(index) }
            crossings.append(Happening(.zone, ["zone": .text(zone.name), "entered": .flag(isInside)]))
        }
        return Verdict(location: self.hidden(fix), crossings: crossings)
    }

    /// Filters a position other than a new fix: another form of the last fix, a prediction, a stored position. No zone
    /// is entered or left.
    ///
    /// - Returns: The position itself, or the centre of a zone; `nil` when none may be shown.
    public func hidden(_ location: Location) -> Location? {
        var first: PrivacyZone?
        for (index, zone) in self.zones.enumerated()
        where self.holds(zone, location, wasInside: self.inside.contains(index)) {
            // Omitting hides more than replacing, so it has priority.
            if zone.rule == .omit { return nil }
            first = first ?? zone
        }
        return first.map { Self.replaced(location, by: $0) } ?? location
    }

    private func holds(_ zone: PrivacyZone, _ location: Location, wasInside: Bool) -> Bool {
        let distance = location.coordinate.distance(to: zone.center).value
        return distance <= zone.radius.value + (wasInside ? zone.margin : 0)
    }

    /// Returns the zone's centre with the time of the fix, its record number and the state of the device. Measurements
    /// and members from the source are removed.
    private static func replaced(_ fix: Location, by zone: PrivacyZone) -> Location {
        var shown = Location(coordinate: zone.center, time: fix.time)
        shown.seq = fix.seq
        shown.stream = fix.stream
        shown.batteryLevel = fix.batteryLevel
        shown.mode = fix.mode
        shown.tripID = fix.tripID
        shown.source = .zone
        return shown
    }
}
