import ArgumentParser
import Testing
import TrackingControl
import TrackingCore

@testable import godwit_agent

/// Values that begin with a minus sign, and values that no message repeats.
@Suite struct TrackedOptionsTests {
    @Test func aDestinationMayBeSouthOfTheEquator() throws {
        let sydney = try #require(Coordinate(latitude: -33.9, longitude: 151.2))
        #expect(try Track.parse(["van-7", "--destination", "-33.9,151.2"]).tracked.destination == sydney)
        #expect(try Add.parse(["van-7", "--destination=-33.9,151.2"]).tracked.destination == sydney)
    }

    @Test func aZoneThatIsNoneIsNotRepeated() {
        let values: [String: [String]?] = ["zone": ["home,52.66"], "keep-points": ["0"], "raw": nil]
        let message = LiveSettings.redacted("The value 'home,52.66' is invalid for '--zone <zone>'", values)
        #expect(message == "a value of the setting 'zone' has the wrong form. See --zone in godwit-agent run --help")
        let other = LiveSettings.redacted("--keep-points must be 1 or more", values)
        #expect(other == "--keep-points must be 1 or more")
    }
}
