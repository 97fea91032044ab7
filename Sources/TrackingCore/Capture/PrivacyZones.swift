/// A privacy zone: a circle in which the trackable's positions are hidden.
public struct PrivacyZone: Hashable, Sendable {
    /// The treatment of positions inside a privacy zone.
    public enum Rule: String, Hashable, Sendable, CaseIterable {
        /// Replace a position inside the zone by the zone's centre, and remove its measurements, such as speed. The
        /// charge of the battery remains.
        case replace
        /// Record and send no position inside the zone.
        case omit
    }

    /// The name of the zone, which events contain: 1 to 64 bytes, without control characters and characters that change
    /// the direction of text.
    public let name: String
    /// The centre of the zone. With the rule `replace`, it replaces positions inside the zone.
    public let center: Coordinate
    /// The radius of the zone, 10 m to 100 km.
    public let radius: Meters
    /// The treatment of positions inside this zone: replaced by the centre, or omitted.
    public let rule: Rule

    /// Makes a privacy zone, a circle in which the trackable's positions are replaced by its centre or omitted.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when the name or the radius is not allowed.
    public init(name: String, center: Coordinate, radius: Meters, rule: Rule = .replace) throws(TrackingError) {
        guard (1...64).contains(name.utf8.count) else {
            throw TrackingError(
                .invalidConfiguration,
                "the name of a privacy zone must have 1 to 64 bytes; this one has \(name.utf8.count)")
        }
        guard name.isPlainText else {
            throw TrackingError(
                .invalidConfiguration,
                "the name of a privacy zone must contain no control characters and none that change text direction")
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

    /// The distance beyond the zone's radius, in metres, at which the trackable counts as having left the zone: a tenth
    /// of the radius, at least 10 m.
    package var margin: Double { max(10, self.radius.value / 10) }
}

/// Hides positions inside privacy zones (`docs/reference/capture.md`, "Zones"). On the device, every position passes
/// this filter before it is recorded, sent or logged. That includes positions in trips, events and predictions.
public struct PrivacyZones: Hashable, Sendable {
    /// The result of hiding a fix that is inside a privacy zone: the position to show, and the zones entered or left.
    public struct Verdict: Hashable, Sendable {
        /// The position that may be shown: the fix itself, or the centre of a privacy zone; `nil` when no position may
        /// be shown.
        public var location: Location?
        /// The privacy zones that the trackable entered or left with this fix, as events in the order of the zones. The
        /// events contain the zones' names, never positions.
        public var crossings: [Happening]
    }

    /// The maximum number of privacy zones in one filter: 256.
    public static let maximumCount = 256

    /// The privacy zones, in the order in which they were configured.
    public let zones: [PrivacyZone]
    private var inside: Set<Int> = []

    /// Makes a filter with these privacy zones. It has not processed a fix yet.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when there are more than ``maximumCount`` zones, or two
    ///   zones have the same name.
    public init(_ zones: [PrivacyZone] = []) throws(TrackingError) {
        guard zones.count <= Self.maximumCount else {
            throw TrackingError(
                .invalidConfiguration,
                "there are \(zones.count) privacy zones; at most \(Self.maximumCount) are allowed. Remove some")
        }
        var names: Set<String> = []
        for zone in zones where !names.insert(zone.name).inserted {
            throw TrackingError(.invalidConfiguration, "two privacy zones have the name '\(zone.name)'; rename one")
        }
        self.zones = zones
    }

    /// `true` when the trackable counted as inside a privacy zone at its last fix.
    public var isInside: Bool { !self.inside.isEmpty }

    /// Copies the set of zones in which the trackable is from the earlier filter `other`, which this filter replaces.
    /// Zones of the two filters are matched by name.
    mutating func goOn(from other: PrivacyZones) {
        let names = Set(other.inside.map { other.zones[$0].name })
        self.inside = Set(self.zones.indices.filter { names.contains(self.zones[$0].name) })
    }

    /// Hides the position of a new fix if it is inside a zone, and finds the zones that the trackable entered or left.
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

    /// Hides a position that is not a new fix, such as a prediction or a stored position, if it is inside a zone. Such
    /// a position never counts as entering or leaving a zone.
    ///
    /// - Returns: The position itself, or the centre of a zone; `nil` when no position may be shown.
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

    /// Returns `true` if a place is inside a zone, or so near to it that a trackable there may count as inside. Such a
    /// place, for example a destination, must not be published.
    package func hides(_ place: Coordinate) -> Bool {
        self.zones.contains { place.distance(to: $0.center).value <= $0.radius.value + $0.margin }
    }

    private func holds(_ zone: PrivacyZone, _ location: Location, wasInside: Bool) -> Bool {
        let distance = location.coordinate.distance(to: zone.center).value
        return distance <= zone.radius.value + (wasInside ? zone.margin : 0)
    }

    /// Returns a position at the zone's centre in place of a fix. It keeps the time, the stream, the record number, the
    /// battery, the mode and the trip of the fix. Measurements such as speed, and other members of the fix, are
    /// removed.
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
