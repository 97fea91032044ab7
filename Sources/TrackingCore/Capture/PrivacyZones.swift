/// A circle inside which nobody is to see where the trackable is.
public struct PrivacyZone: Hashable, Sendable {
    /// What becomes of the positions inside.
    public enum Rule: String, Hashable, Sendable, CaseIterable {
        /// The position becomes the zone's centre; all that could tell more is left out.
        case replace
        /// Nothing is recorded or sent.
        case omit
    }

    /// The name that events carry: 1 to 64 bytes without control characters and without characters that turn the direction of text.
    public let name: String
    /// The centre, which is shown in place of what is inside.
    public let center: Coordinate
    /// The radius, 10 m to 100 km.
    public let radius: Meters
    /// What becomes of the positions inside.
    public let rule: Rule

    /// Makes a zone.
    ///
    /// - Throws: `invalidConfiguration` that says which range was left.
    public init(name: String, center: Coordinate, radius: Meters, rule: Rule = .replace) throws(TrackingError) {
        guard (1...64).contains(name.utf8.count) else {
            throw TrackingError(
                .invalidConfiguration, "a zone's name has 1 to 64 bytes; this one has \(name.utf8.count)")
        }
        guard name.isPlainText else {
            throw TrackingError(
                .invalidConfiguration,
                "a zone's name has no control characters and none that turn the direction of text; this one has one")
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

    /// How far beyond the radius a trackable that was inside must be to have left: a tenth of the radius, 10 m at least.
    var margin: Double { max(10, self.radius.value / 10) }
}

/// Hides what lies inside zones (`docs/capture.md`, "Zones"). Every position passes here before anything else looks at it that
/// records, sends or logs: the live lane, the raw lane, trips, events and predictions get what comes out.
public struct PrivacyZones: Hashable, Sendable {
    /// What to do with a fix, and what was entered or left.
    public struct Verdict: Hashable, Sendable {
        /// What may be shown: the fix itself, or the centre of a zone; `nil`, nothing.
        public var location: Location?
        /// The zones entered and left, in the order given, as events: names, never places.
        public var crossings: [Happening]
    }

    /// The most zones there may be.
    public static let maximumCount = 256

    /// The zones, in the order given.
    public let zones: [PrivacyZone]
    private var inside: Set<Int> = []

    /// Makes a filter that has seen no fix.
    ///
    /// - Throws: `invalidConfiguration` when there are more than ``maximumCount``, or two of one name.
    public init(_ zones: [PrivacyZone] = []) throws(TrackingError) {
        guard zones.count <= Self.maximumCount else {
            throw TrackingError(
                .invalidConfiguration, "there are \(zones.count) zones, and at most \(Self.maximumCount) are kept")
        }
        var names: Set<String> = []
        for zone in zones where !names.insert(zone.name).inserted {
            throw TrackingError(.invalidConfiguration, "two zones have the name '\(zone.name)'")
        }
        self.zones = zones
    }

    /// Whether the last fix was inside a zone.
    public var isInside: Bool { !self.inside.isEmpty }

    /// What was inside a zone of `other` is inside the one of the same name.
    mutating func goOn(from other: PrivacyZones) {
        let names = Set(other.inside.map { other.zones[$0].name })
        self.inside = Set(self.zones.indices.filter { names.contains(self.zones[$0].name) })
    }

    /// A fix arrived.
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

    /// What may be shown of a position that is no news of its own: another writing of the last fix, a prediction, a position
    /// kept from before. Nothing is entered or left.
    ///
    /// - Returns: The position itself, or the centre of a zone; `nil`, nothing.
    public func hidden(_ location: Location) -> Location? {
        var first: PrivacyZone?
        for (index, zone) in self.zones.enumerated()
        where self.holds(zone, location, wasInside: self.inside.contains(index)) {
            // Omitting hides more, so it wins over replacing.
            if zone.rule == .omit { return nil }
            first = first ?? zone
        }
        return first.map { Self.replaced(location, by: $0) } ?? location
    }

    private func holds(_ zone: PrivacyZone, _ location: Location, wasInside: Bool) -> Bool {
        let distance = location.coordinate.distance(to: zone.center).value
        return distance <= zone.radius.value + (wasInside ? zone.margin : 0)
    }

    /// The zone's centre at the time of the fix, with its name in the log and the device's state; nothing that was measured,
    /// nothing that a source added.
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
