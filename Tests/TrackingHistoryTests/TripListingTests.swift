import Testing
import TrackingCore
import TrackingHistory

@Suite struct TripListingTests {
    private static let start = 1_777_887_000.0

    /// An hour with ten minutes of driving, ten minutes of rest, and so on, with a point every ten seconds.
    private let points: [Location] = {
        var moved = 0.0
        return (0..<360).map { step in
            if step / 60 % 2 == 0 { moved += 100 }
            var point = Points.at(start + Double(step) * 10, 52 + moved / 111_195, -8.66)
            point.speed = step == 150 ? 25 : 10
            return point
        }
    }()

    private func trip(_ id: String, _ from: Double, _ to: Double?) throws -> Trip {
        var trip = Trip(
            id: id, mode: "car", start: UnixTime(Self.start + from), stream: try #require(StreamID("one")), seq: 1)
        trip.end = to.map { UnixTime(Self.start + $0) }
        trip.state = to == nil ? .active : .ended
        return trip
    }

    /// `T` and `S` for a detected trip and stop; for a recorded trip its id and top speed.
    private func list(_ recorded: [Trip]) throws -> [String] {
        var listing = try TripListing(recorded: recorded)
        return Self.texts(self.points.flatMap { listing.append($0) } + listing.finish())
    }

    private static func texts(_ entries: [TripListing.Entry]) -> [String] {
        entries.map { entry in
            switch entry {
            case .recorded(let trip, let topSpeed): "\(trip.id) \(topSpeed.map { "\(Int($0))" } ?? "–")"
            case .found(.trip): "T"
            case .found(.stop): "S"
            }
        }
    }

    @Test func withoutRecordedTripsTheDetectedOnesAreListed() throws {
        #expect(try self.list([]) == ["T", "S", "T", "S", "T", "S"])
    }

    @Test func noTripIsDetectedDuringARecordedTrip() throws {
        #expect(try self.list([self.trip("one", 1200, 1799)]) == ["T", "S", "one 25", "S", "T", "S"])
        #expect(try self.list([self.trip("one", 0, 3600)]) == ["one 25"])
        #expect(try self.list([self.trip("goes on", 1300, nil)]) == ["T", "S", "T", "goes on 25", "S"])
    }

    /// A missing end does not hide later trips.
    @Test func aTripWithoutAnEndIsOverAfterItsSilence() throws {
        var unfinished = try self.trip("lost", 0, nil)
        unfinished.duration = 60
        #expect(try self.list([unfinished]) == ["lost 25", "S", "T", "S"])
        #expect(try self.list([unfinished, self.trip("two", 2400, 2999)]) == ["lost 25", "S", "two 10", "S"])
    }

    @Test func recordedTripsComeInTheOrderOfTime() throws {
        let trips = try [self.trip("later", 5000, 5100), self.trip("two", 2400, 2999), self.trip("one", 0, 599)]
        #expect(try self.list(trips) == ["one 10", "S", "T", "S", "two 10", "S", "later –"])
        #expect(try self.list([self.trip("b", 100, 3000), self.trip("a", 0, 3590)]) == ["b 25", "a 25"])
    }

    /// All points of the trip count, including those outside the requested time. No trip is detected outside that
    /// time.
    @Test func aTripThatOverlapsTheRequestedTimeIsComplete() throws {
        let trip = try self.trip("one", 1200, 1799)
        for (from, to, entries) in [
            (1600.0, nil, ["one 25", "S", "T", "S"]), (nil, 1400.0, ["T", "S", "one 25"]), (1600, 1700, ["one 25"]),
            (1000, 2000, ["S", "one 25", "S"]), (nil, nil, ["T", "S", "one 25", "S", "T", "S"]),
        ] {
            func time(_ seconds: Double?) -> UnixTime? { seconds.map { UnixTime(Self.start + $0) } }
            var listing = try TripListing(recorded: [trip], from: time(from), to: time(to))
            #expect(listing.from == from.map { UnixTime(Self.start + min($0, 1200)) })
            #expect(listing.to.map { $0.seconds > Self.start + 1799 } != false)
            let read = self.points.filter { point in
                listing.from.map { $0 <= point.time } ?? true && listing.to.map { point.time < $0 } ?? true
            }
            #expect(
                Self.texts(read.flatMap { listing.append($0) } + listing.finish()) == entries,
                "\(String(describing: (from, to)))")
        }
    }

    /// A receiver's noise over a few seconds is no speed.
    @Test func aTripOfAFewSecondsHasNoTopSpeed() throws {
        for (seconds, topSpeed) in [(9.0, nil), (10.0, 5.0)] {
            var listing = try TripListing(recorded: [self.trip("one", 0, seconds)])
            for (time, metres) in [(0.0, 0.0), (1.0, 30.0), (seconds, 50.0)] {
                _ = listing.append(Points.at(Self.start + time, 52 + metres / 111_195, -8.66))
            }
            guard case .recorded(_, let found)? = listing.finish().first else {
                throw TrackingError(.invalidPayload, "")
            }
            #expect(found.map { $0.rounded() } == topSpeed)
        }
    }

    @Test func aTripWithoutPointsIsListed() throws {
        var listing = try TripListing(recorded: [self.trip("one", 0, 10)])
        #expect(listing.finish() == [.recorded(try self.trip("one", 0, 10), topSpeed: nil)])
    }
}
