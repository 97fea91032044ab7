import Testing
import TrackingCore

@testable import TrackingRoads

struct ReportedTravelTests {
    private static func fix(_ seconds: Double, _ motion: Motion...) throws -> Location {
        var fix = Location(
            coordinate: try #require(Coordinate(latitude: 47, longitude: 9.5)), time: UnixTime(1_790_000_000 + seconds))
        fix.motion = motion
        return fix
    }

    @Test func theMotionDecidesUntilTheDeviceDrives() throws {
        var travel = ReportedTravel()
        #expect(travel.profile == .auto)
        travel.moved(try Self.fix(0, .cycling))
        #expect(travel.profile == .bicycle)
        travel.moved(try Self.fix(1, .walking))
        #expect(travel.profile == .pedestrian)
        travel.moved(try Self.fix(2, .driving))
        #expect(travel.profile == .auto)
    }

    /// A device that derives the motion from the speed reports a car in slow traffic as cycling.
    @Test func aSlowCarStaysACarForTenMinutes() throws {
        var travel = ReportedTravel()
        travel.moved(try Self.fix(0, .driving))
        for seconds in [1.0, 30, 599, 600] {
            travel.moved(try Self.fix(seconds, .cycling))
            #expect(travel.profile == .auto, "\(seconds)")
        }
        travel.moved(try Self.fix(601, .cycling))
        #expect(travel.profile == .bicycle)
    }
}
