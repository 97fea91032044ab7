import Testing

@testable import TrackingCore

@Suite struct PrivacyZonesTests {
    private func zone(
        _ name: String, north: Double = 0, radius: Double = 100, _ rule: PrivacyZone.Rule = .replace
    ) throws -> PrivacyZone {
        try PrivacyZone(
            name: name, center: Location.fix(north: north, at: 0).coordinate, radius: Meters(radius), rule: rule)
    }

    /// A fix with every member.
    private func full(north: Double) -> Location {
        var fix = Location.fix(north: north, at: 10, speed: 3, accuracy: 4, motion: [.walking])
        fix.altitude = 80
        fix.accuracyVertical = 3
        fix.bearing = 90
        fix.accuracyBearing = 2
        fix.accuracySpeed = 0.1
        fix.floor = 2
        fix.seq = 7
        fix.stream = StreamID("s")
        fix.batteryLevel = 0.5
        fix.mode = .active
        fix.tripID = "t"
        fix.source = .gps
        fix.extra = Array(#"{"wifi":"home","lat":52.6}"#.utf8)
        return fix
    }

    @Test func insideNothingButTheCentreIsShown() throws {
        var zones = try PrivacyZones([self.zone("home")])
        let shown = try #require(zones.moved(self.full(north: 60)).location)
        var expected = Location(coordinate: zones.zones[0].center, time: self.full(north: 60).time)
        expected.seq = 7
        expected.stream = StreamID("s")
        expected.batteryLevel = 0.5
        expected.mode = .active
        expected.tripID = "t"
        expected.source = .zone
        #expect(shown == expected)
        // Two positions inside a zone give the same result.
        #expect(zones.moved(self.full(north: -20)).location == shown)
    }

    @Test func membersAddedLaterDoNotLeak() throws {
        let zones = try PrivacyZones([self.zone("home")])
        let shown = try #require(zones.hidden(self.full(north: 60)))
        let stats = TrackingStats(
            pauses: true, activity: .other, desiredAccuracy: .best, deferral: nil, significantChange: .off)
        #expect(stats.added(to: shown).addingWireless("home").extra == nil)
    }

    @Test func aFixOutsideIsUnchanged() throws {
        var zones = try PrivacyZones([self.zone("home"), self.zone("work", north: 5000, .omit)])
        let verdict = zones.moved(self.full(north: 300))
        #expect(verdict == .init(location: self.full(north: 300), crossings: []))
    }

    @Test func aFixOmittedByOneZoneIsNotShownByAnother() throws {
        var zones = try PrivacyZones([self.zone("street", radius: 500), self.zone("house", .omit)])
        let verdict = zones.moved(self.full(north: 50))
        #expect(verdict.location == nil)
        #expect(verdict.crossings.count == 2)
    }

    @Test func ofTwoZonesThatReplaceTheFirstIsShown() throws {
        let first = try self.zone("a", north: 50)
        let zones = try PrivacyZones([first, self.zone("b")])
        #expect(zones.hidden(self.full(north: 25))?.coordinate == first.center)
    }

    @Test(arguments: ["", "ho\nme", "home\u{1B}[2J", "\u{85}"]) func aNameCanBeReadOnOneLine(name: String) {
        let error = #expect(throws: TrackingError.self) { try self.zone(name) }
        #expect(error?.code == .invalidConfiguration && error?.message.contains("home") == false)
    }

    @Test func crossingsHaveANameAndNoPlace() throws {
        var zones = try PrivacyZones([self.zone("home")])
        let crossings = [300.0, 50, 105, 120, 90].map { zones.moved(.fix(north: $0, at: 0)).crossings }
        let entered = Happening(.zone, ["zone": .text("home"), "entered": .flag(true)])
        let left = Happening(.zone, ["zone": .text("home"), "entered": .flag(false)])
        // 105 m is within the margin, which is a tenth of the radius and at least 10 m: the zone is not left yet.
        #expect(crossings == [[], [entered], [], [left], [entered]])
    }

    @Test func withinTheMarginItStaysHidden() throws {
        var zones = try PrivacyZones([self.zone("home")])
        #expect(zones.moved(.fix(north: 105, at: 0)).location?.source == nil)
        _ = zones.moved(.fix(north: 50, at: 1))
        #expect(zones.moved(.fix(north: 105, at: 2)).location?.source == .zone)
    }

    @Test func figuresOutOfRangeAreRefused() throws {
        #expect(throws: TrackingError.self) { try self.zone("") }
        #expect(throws: TrackingError.self) { try self.zone("home", radius: 9) }
        #expect(throws: TrackingError.self) { try self.zone("home", radius: .nan) }
        #expect(throws: TrackingError.self) { try PrivacyZones([self.zone("a"), self.zone("a", north: 900)]) }
        let many = try (0...256).map { try self.zone("\($0)") }
        #expect(throws: TrackingError.self) { try PrivacyZones(many) }
    }

    /// On any walk, no published position is inside a zone apart from its centre, and crossings alternate.
    @Test(arguments: UInt64(1)...8) func noWalkShowsAPlaceInside(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var zones = try PrivacyZones([self.zone("a"), self.zone("b", north: 250, .omit), self.zone("c", north: 150)])
        var inside: [String: Bool] = [:]
        var north = -300.0
        var east = 0.0
        for step in 0..<1000 {
            north = max(-400, min(600, north + Double.random(in: -40...41, using: &generator)))
            east = max(-150, min(150, east + Double.random(in: -20...20, using: &generator)))
            let verdict = zones.moved(.fix(north: north, east: east, at: Double(step), accuracy: 5))
            for crossing in verdict.crossings {
                guard case .text(let name)? = crossing.detail["zone"],
                    case .flag(let entered)? = crossing.detail["entered"]
                else {
                    Issue.record("a crossing without a name")
                    continue
                }
                #expect(inside[name] ?? false != entered)
                inside[name] = entered
            }
            guard let shown = verdict.location else { continue }
            for zone in zones.zones where shown.coordinate.distance(to: zone.center) <= zone.radius {
                #expect(zones.zones.contains { $0.center == shown.coordinate && $0.rule == .replace })
                #expect(shown.source == .zone && shown.accuracyHorizontal == nil)
            }
        }
        #expect(!inside.isEmpty)
    }
}
