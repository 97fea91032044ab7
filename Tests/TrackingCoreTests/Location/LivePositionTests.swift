import Testing
import TrackingCore

struct LivePositionTests {
    private static let now = UnixTime(1_790_000_000)

    private func point(_ latitude: Double = 52, _ longitude: Double = 0, ahead: Double = 0) throws -> Location {
        let place = try #require(Coordinate(latitude: latitude, longitude: longitude))
        return Location(coordinate: place, time: UnixTime(Self.now.seconds + ahead))
    }

    @Test(arguments: [(0.0, 0.0, true), (-0.0, 0.0, true), (0, 1e-7, false), (1e-7, 0, false)])
    func exactlyZeroIsNoPlace(latitude: Double, longitude: Double, isNowhere: Bool) throws {
        let point = try self.point(latitude, longitude)
        #expect((LivePosition.fault(of: point, at: Self.now) == .nowhere) == isNowhere)
        #expect((LivePosition.fault(of: point, at: nil) == .nowhere) == isNowhere)
    }

    @Test func aClockMayBeAheadByAMinuteAndNoMore() throws {
        #expect(LivePosition.fault(of: try self.point(ahead: 60), at: Self.now) == nil)
        #expect(LivePosition.fault(of: try self.point(ahead: 85), at: Self.now) == .ahead(.seconds(85)))
        #expect(LivePosition.fault(of: try self.point(ahead: 85), at: nil) == nil)
        #expect(LivePosition.fault(of: try self.point(ahead: -1e8), at: Self.now) == nil)
    }

    @Test func anUnsetClockIsKnownByItsTimeOrItsMark() throws {
        var point = try self.point()
        point.extra = Array(#"{"clock":"unset"}"#.utf8)
        #expect(LivePosition.fault(of: point, at: nil) == .unsetClock)
        point.extra = Array(#"{"clock":7}"#.utf8)
        #expect(LivePosition.fault(of: point, at: Self.now) == nil)
        point = Location(coordinate: point.coordinate, time: UnixTime(86_400))
        #expect(LivePosition.fault(of: point, at: Self.now) == .unsetClock)
        #expect(LivePosition.fault(of: point, at: UnixTime(86_500)) == nil, "a clock that is not set judges no other")
    }

    /// The device's filter and the recorder use the same limit.
    @Test func theLimitIsOne() throws {
        let filter = LocationFilter(resolution: .standard)
        for (ahead, isFault) in [(59.0, false), (61, true)] {
            let point = try self.point(ahead: ahead)
            let verdict = filter.consider(point, now: MonotonicTime(.zero), wallClock: Self.now)
            #expect((verdict == .notLive) == isFault)
            #expect(RecordedTime.isFault(point.time, receivedAt: Self.now) == isFault)
        }
    }
}
