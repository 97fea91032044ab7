import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the trip of a trackable that is no longer tracked.
struct DepartureTests {
    private static func onTrip() throws -> (talk: PublisherConversation, van: Trackable) {
        var talk = try PublisherConversation.online()
        let van = try PublisherConversation.van()
        _ = talk.happened(.trip(van.id, try TripMode("bus"), request: 1))
        _ = talk.acked()
        return (talk, van)
    }

    private static func ends(_ said: [String]) -> [String] {
        said.filter { $0.hasPrefix("van/trip: ENDED") || $0 == "van/event: TRIP_ENDED" }
    }

    @Test func aTripEndsWithItsTrackable() throws {
        var (talk, van) = try Self.onTrip()
        let said = talk.happened(.remove(van.id))
        #expect(Self.ends(said) == ["van/trip: ENDED bus record 4", "van/event: TRIP_ENDED"])
        #expect(talk.log.values.flatMap(\.values).contains { $0.kind == .trip && $0.seq == 4 }, "in the log")
        _ = talk.acked()
        #expect(talk.kept.isEmpty, "\(talk.kept.keys)")
        _ = talk.happened(.add(van))
        #expect(talk.happened(.trip(van.id, nil, request: 2)) == ["answer noTrip"])
    }

    @Test(arguments: [UnsentPoints.clear, .refuse])
    func aTripEndsWhenAnotherTrackableReplacesItsTrackable(unsent: UnsentPoints) throws {
        var (talk, _) = try Self.onTrip()
        _ = talk.happened(.sendRecords(all: true))
        _ = talk.acked()
        let said = talk.happened(.asked(.bind(Trackable(try TrackableID("bus")), unsent: unsent), request: 7))
        #expect(said.contains("answer bound") && Self.ends(said).count == 2, "\(said)")
    }

    @Test func nothingIsPublishedBeforeItIsWritten() throws {
        var (talk, van) = try Self.onTrip()
        talk.isDiskBusy = true
        #expect(Self.ends(talk.happened(.remove(van.id))).isEmpty)
        #expect(Self.ends(talk.written()).count == 2)
    }

    @Test func itIsSaidWhenThereIsAConnectionAgain() throws {
        var (talk, van) = try Self.onTrip()
        _ = talk.lose()
        #expect(Self.ends(talk.happened(.remove(van.id))).isEmpty)
        _ = talk.connect(1)
        #expect(Self.ends(talk.granted()).count == 2)
        _ = talk.lose()
        _ = talk.connect(2)
        #expect(Self.ends(talk.granted()).count == 2, "it was not taken")
        _ = talk.acked()
        _ = talk.lose()
        _ = talk.connect(3)
        #expect(Self.ends(talk.granted()).isEmpty)
    }

    @Test func itIsSaidAfterARestart() throws {
        var (talk, van) = try Self.onTrip()
        _ = talk.lose()
        _ = talk.happened(.remove(van.id))
        var next = try PublisherConversation(kept: talk.kept)
        _ = next.connect(0)
        #expect(Self.ends(next.granted()) == ["van/trip: ENDED bus record 4"])
    }

    @Test func anotherPublisherPublishesTheRetainedTrip() throws {
        var (talk, van) = try Self.onTrip()
        _ = talk.lose()
        _ = talk.happened(.remove(van.id))
        let asked = talk.connect(1)
        #expect(asked.contains { $0.hasPrefix("subscribe") && $0.contains("van/publisher/+") }, "\(asked)")
        _ = talk.publisher("d2", "theirs", since: 5000, retained: true)
        #expect(Self.ends(talk.granted()).isEmpty)
        #expect(talk.kept.isEmpty, "\(talk.kept.keys)")
    }

    @Test func aTrackableThatIsTrackedAgainPublishesItsTripItself() throws {
        var (talk, van) = try Self.onTrip()
        _ = talk.lose()
        _ = talk.happened(.remove(van.id))
        _ = talk.happened(.add(van))
        _ = talk.connect(1)
        #expect(Self.ends(talk.granted()).count == 2)
    }

    @Test func aFailedTrackableEndsNoTrip() throws {
        var (talk, van) = try Self.onTrip()
        talk.isRemovalIgnored = true
        _ = talk.publisher("d2", "theirs", since: 5000)
        #expect(Self.ends(talk.happened(.remove(van.id))).isEmpty)
    }
}
