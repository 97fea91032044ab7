import Testing
import TrackingCore

@testable import godwit

/// The check of a stop before a share link is made for it.
@Suite struct StopCheckTests {
    private func find(_ stop: String, among ids: [String]?) throws -> StopCheck.Finding {
        let place = try #require(Coordinate(latitude: 47.1, longitude: 9.5))
        let journey = ids.map { ids in Journey(stops: ids.map { Journey.Stop(id: $0, location: place) }) }
        return StopCheck(stop: stop, of: try TrackableID("van")).find(in: journey)
    }

    @Test func aStopOfTheJourneyIsKnown() throws {
        #expect(try self.find("4711", among: ["4710", "4711"]) == .known)
    }

    @Test func anUnknownStopIsAnErrorThatNamesTheStops() throws {
        let expected =
            "cannot share van for the stop '4717': its journey has no such stop. Did you mean 4711? Its stops are '4711', 'home'. Give one of these, or --yes to create the link all the same"
        #expect(try self.find("4717", among: ["4711", "home"]) == .unknown(expected))
    }

    /// The id comes from the broker or from the user, and the error remains short.
    @Test func theErrorNamesAtMostTwentyStops() throws {
        guard case .unknown(let error) = try self.find("x", among: (1...200).map { "stop-\($0)" }) else {
            Issue.record("the stop is not unknown")
            return
        }
        #expect(error.contains("'stop-20' and 180 more.") && !error.contains("'stop-21'"), "\(error)")
    }

    @Test func withoutAJourneyThereIsNoError() throws {
        guard case .unverifiable(let note) = try self.find("4711", among: nil) else {
            Issue.record("the stop was checked")
            return
        }
        #expect(note.hasPrefix("cannot check that the journey of van has the stop '4711'"))
    }
}
