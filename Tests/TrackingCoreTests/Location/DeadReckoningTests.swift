import Testing
import TrackingCore

@Suite struct DeadReckoningTests {
    private func fix(speed: Double? = 20, bearing: Double? = 90) throws -> Location {
        var fix = Location(
            coordinate: try #require(Coordinate(latitude: 52, longitude: 8)), time: UnixTime(1_700_000_000))
        (fix.speed, fix.bearing, fix.seq, fix.stream) = (speed, bearing, 7, StreamID("s"))
        (fix.accuracyHorizontal, fix.accuracySpeed, fix.accuracyBearing) = (5, 0.5, 3)
        (fix.tripID, fix.extra, fix.altitude, fix.source) = ("t", Array("{}".utf8), 40, .gps)
        return fix
    }

    @Test func thePositionContinuesTheFix() throws {
        let fix = try self.fix()
        let predicted = try #require(DeadReckoning(from: fix)).position(after: .seconds(10))
        #expect(abs(fix.coordinate.distance(to: predicted.coordinate).value - 200) < 1e-6)
        #expect(abs(fix.coordinate.bearing(to: predicted.coordinate) - 90) < 1e-3)
        #expect(predicted.time == UnixTime(1_700_000_010))
        #expect(predicted.speed == 20 && predicted.bearing == 90 && predicted.source == .predicted)
        // It is no record, and no member of a trip.
        #expect(predicted.seq == nil && predicted.stream == nil && predicted.tripID == nil)
        #expect(predicted.extra == nil && predicted.altitude == nil)
    }

    /// The independent errors are 5 m, 0.5 m/s · 10 s, 200 m · 3°, and ½ · 0.5 m/s² · (10 s)².
    @Test func theErrorIsTheRootOfTheSumOfSquares() throws {
        let predicted = try #require(DeadReckoning(from: try self.fix())).position(after: .seconds(10))
        let bearing = 200 * 3 * Double.pi / 180
        let expected = (25.0 + 25 + bearing * bearing + 625).squareRoot()
        #expect(abs(try #require(predicted.accuracyHorizontal) - expected) < 1e-9)
    }

    @Test(arguments: [true, false]) func theErrorGrows(areErrorsKnown: Bool) throws {
        var fix = try self.fix()
        if !areErrorsKnown { (fix.accuracyHorizontal, fix.accuracySpeed, fix.accuracyBearing) = (nil, nil, nil) }
        let reckoning = try #require(DeadReckoning(from: fix))
        let errors = try (1...600).map { try #require(reckoning.position(after: .seconds($0)).accuracyHorizontal) }
        #expect(zip(errors, errors.dropFirst()).allSatisfy { $0 < $1 && $1.isFinite })
        #expect(errors[0] > (fix.accuracyHorizontal ?? 0))
    }

    @Test(arguments: [(nil, 90), (20, nil), (0.9, 90), (.infinity, 90), (20, .nan)] as [(Double?, Double?)])
    func withoutSpeedAndDirectionNothingIsPredicted(speed: Double?, bearing: Double?) throws {
        #expect(DeadReckoning(from: try self.fix(speed: speed, bearing: bearing)) == nil)
    }
}
