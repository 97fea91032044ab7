import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct GPSDReportTests {
    private func read(_ text: String) throws(TrackingError) -> GPSDReport {
        try GPSDReport(line: Array(text.utf8)[...])
    }

    @Test func aFixIsBroughtToOurUnitsAndConfidence() throws {
        let report = try self.read(
            """
            {"class":"TPV","device":"/dev/ttyUSB0","mode":3,"time":"2024-05-17T12:00:01.500Z","ept":0.005,"lat":52.65,\
            "lon":-8.62,"altHAE":77.5,"altMSL":20.5,"alt":20.5,"epx":1.96,"epy":3.92,"epv":9.8,"track":361.5,"epd":3.92,\
            "speed":5.25,"eps":0.98,"eph":19.0}
            """)
        guard case .fix(let fix, let device) = report else {
            Issue.record("no fix: \(report)")
            return
        }
        #expect(device == "/dev/ttyUSB0" && fix.time == .at("2024-05-17T12:00:01.5Z"))
        #expect(fix.coordinate == Coordinate(latitude: 52.65, longitude: -8.62))
        #expect(fix.altitude == 77.5 && fix.speed == 5.25 && fix.bearing == 1.5)
        #expect(abs((fix.accuracyHorizontal ?? 0) - 1.0675 * 5.0.squareRoot()) < 1e-9)
        #expect(abs((fix.accuracyVertical ?? 0) - 5) < 1e-9 && abs((fix.accuracyBearing ?? 0) - 2) < 1e-9)
        #expect(abs((fix.accuracySpeed ?? 0) - 0.5) < 1e-9)
    }

    @Test(arguments: [(1, false), (8, true)]) func whatGpsdCallsSimulatedIsAMock(status: Int, isMock: Bool) throws {
        let report = try self.read(
            #"{"class":"TPV","mode":2,"time":"2024-05-17T12:00:01Z","lat":1,"lon":2,"status":\#(status)}"#)
        guard case .fix(let fix, nil) = report else {
            Issue.record("no fix")
            return
        }
        #expect(MockPolicy.isMock(fix) == isMock)
    }

    @Test func figuresThatOverflowAreUnknown() throws {
        let report = try self.read(
            #"{"class":"TPV","mode":2,"time":"2024-05-17T12:00:01Z","lat":1,"lon":2,"epx":1e200,"epy":1e200}"#)
        guard case .fix(let fix, nil) = report else {
            Issue.record("no fix")
            return
        }
        #expect(fix.accuracyHorizontal == nil)
    }

    @Test func theRadiusServesWhereTheErrorsOfTheAxesAreMissing() throws {
        let report = try self.read(
            #"{"class":"TPV","mode":2,"time":"2024-05-17T12:00:01Z","lat":1,"lon":2,"eph":16.214,"altHAE":5,"epv":3,"speed":0,"track":9}"#
        )
        guard case .fix(let fix, nil) = report else {
            Issue.record("no fix")
            return
        }
        #expect(abs((fix.accuracyHorizontal ?? 0) - 10) < 1e-9)
        #expect(fix.altitude == nil && fix.accuracyVertical == nil && fix.bearing == nil && fix.speed == 0)
    }

    /// The factors, from the law they are derived from: the share of a normal error within a radius.
    @Test func theFactorsFollowFromTheNormalLaw() {
        var dice = SplitMix64(seed: 7)
        var radii: [Double] = []
        var lines: [Double] = []
        for _ in 0..<200_000 {
            let (north, east) = (dice.normal(), dice.normal())
            radii.append((north * north + east * east).squareRoot())
            lines.append(abs(north))
        }
        radii.sort()
        lines.sort()
        let (r68, r95) = (radii[136_000], radii[190_000])
        #expect(abs(r95 * Confidence.radiusFrom95 - r68) < 0.01)
        #expect(abs(Confidence.radius(deviations: 1, 1) - r68) < 0.01)
        #expect(abs(lines[190_000] * Confidence.lineFrom95 - lines[136_540]) < 0.01)
    }

    @Test(arguments: [
        #"{"class":"TPV","mode":1}"#, #"{"class":"TPV"}"#, #"{"class":"TPV","mode":3,"lat":1,"lon":2}"#,
        #"{"class":"TPV","mode":3,"time":"2024-05-17T12:00:01Z","lat":91,"lon":2}"#,
        #"{"class":"TPV","mode":3,"time":"yesterday","lat":1,"lon":2}"#,
    ])
    func whatHasNoPlaceOrTimeIsNoFix(text: String) throws { #expect(try self.read(text) == .noFix) }

    @Test func otherReportsAreRead() throws {
        #expect(
            try self.read(#"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"#)
                == .version(release: "3.22", protocolMajor: 3))
        #expect(
            try self.read(
                #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/a","activated":"2024-05-17T12:00:01Z","mincycle":0.25},{"class":"DEVICE","path":"/dev/b","activated":0}]}"#
            )
                == .devices([
                    .init(path: "/dev/a", isActive: true, shortestCycle: 0.25),
                    .init(path: "/dev/b", isActive: false, shortestCycle: nil),
                ]))
        #expect(
            try self.read(#"{"class":"DEVICE","path":"/dev/a"}"#)
                == .device(.init(path: "/dev/a", isActive: true, shortestCycle: nil)))
        #expect(try self.read(#"{"class":"ERROR","message":"Unrecognized"}"#) == .error("Unrecognized"))
        #expect(try self.read(#"{"class":"SKY","satellites":[]}"#) == .other("SKY"))
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "{\"class\":7}", "{\"class\":\"TPV\",\"mode\":\"x\"}", "{\"class\":\"DEVICES\"}",
        "\u{0}", "{\"class\":\"TPV\"",
    ])
    func whatIsNoReportIsRefused(text: String) {
        #expect(throws: TrackingError(.invalidPayload, "the line is not a JSON report of gpsd")) { try self.read(text) }
    }

    @Test func deepNestingIsRefused() {
        let text = String(repeating: "[", count: 60_000)
        #expect(throws: TrackingError.self) { try self.read(text) }
    }
}
