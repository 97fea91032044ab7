import Testing

@testable import TrackingCore

@Suite struct JourneyCodecTests {
    private static func journey(_ stop: String) -> [UInt8] { #"{"stops":[\#(stop)]}"#.payload }
    private static let place = #""location":[9.52,47.14]"#

    @Test func readsTheExampleOfTheProtocol() throws {
        let text = #"""
            { "stops": [
                { "id": "4711", "name": "Depot", "location": [9.52, 47.14], "radius": 150, "planned": 1795411697 },
                { "id": "4712", "location": [9.51, 47.166] } ],
              "profile": "auto" }
            """#
        let journey = try MessageCodec.decodeJourney(text.payload)
        let depot = try #require(Coordinate(latitude: 47.14, longitude: 9.52))
        #expect(journey.profile == .auto)
        #expect(
            journey.stops.first
                == Journey.Stop(id: "4711", name: "Depot", location: depot, planned: UnixTime(1_795_411_697)))
        #expect(journey.stops.last?.radius == 150)
        #expect(try MessageCodec.decodeJourney(MessageCodec.encode(journey)) == journey)
    }

    @Test func everyJourneyReadsBackAsItWas() throws {
        var generator = WireGenerator(seed: 4)
        for count in 1...Journey.maximumStops where count % 7 == 1 {
            let journey = Journey(
                stops: (0..<count).map { index in
                    Journey.Stop(
                        id: "stop \(index)", name: generator.maybe { $0.pick(["Depot", "Straße 🚲", "\"1\""]) },
                        location: generator.location().coordinate, radius: Meters(generator.number(1...100_000)),
                        planned: generator.maybe { UnixTime($0.number(0...2e9)) })
                },
                profile: generator.maybe { $0.pick(TravelProfile.allCases) })
            #expect(try MessageCodec.decodeJourney(MessageCodec.encode(journey)) == journey)
        }
    }

    @Test(arguments: [
        ("{}", "stops is missing"),
        (#"{"stops":7}"#, "stops must be an array; found a number"),
        (#"{"stops":[]}"#, "stops must have at least one element; found none"),
        (#"{"stops":[7]}"#, "stops[0] must be an object; found a number"),
        (#"{"stops":[{"id":"a","location":[0,0]},null]}"#, "stops[1] must be an object; found null"),
        (
            #"{"stops":[{"id":"a","location":[0,0]}],"profile":"plane"}"#,
            "profile must be one of auto, bicycle, pedestrian, bus, truck; found another string"
        ),
        (
            #"{"stops":[{"id":"a","location":[0,0]},{"id":"b","location":[0,0]},{"id":"a","location":[1,1]}]}"#,
            "stops[2].id must differ from the ids of the stops before it"
        ),
        (#"{"stops":[{"id":"a","location":[0,0]}"#, "the text is not JSON: expected ',' or ']' at byte 37"),
    ])
    func rejectsABadJourney(text: String, message: String) {
        expectRefused(message) { () throws(TrackingError) in try MessageCodec.decodeJourney(text.payload) }
    }

    @Test(arguments: [
        (#""name":"x""#, "stops[0].id is missing"),
        (#""id":"""#, "stops[0].id must be \(WireLimits.tripIDRule); found another string"),
        (#""id":"a\u0007""#, "stops[0].id must be \(WireLimits.tripIDRule); found another string"),
        (#""id":"a\u202eb""#, "stops[0].id must be \(WireLimits.tripIDRule); found another string"),
        (#""id":4711"#, "stops[0].id must be a string; found a number"),
        (
            #""id":"a","radius":0"#,
            "stops[0].radius must be a number of metres from 1 to 100000; found a number out of range"
        ),
        (#""id":"a","radius":"far""#, "stops[0].radius must be a number of metres from 1 to 100000; found a string"),
        (#""id":"a","planned":1e12"#, "stops[0].planned must be Unix time in seconds; found a number out of range"),
        (#""id":"a","planned":"14:30""#, "stops[0].planned must be Unix time in seconds; found a string"),
        (#""id":"a","location":[9.52]"#, "stops[0].location must be [longitude, latitude]; found fewer numbers"),
        (
            #""id":"a","location":[9.52,91]"#,
            "stops[0].location must be a latitude from -90 to 90; found a number out of range"
        ),
        (
            #""id":"a","location":[1e300,0]"#,
            "stops[0].location must be a longitude from -180 to 180; found a number out of range"
        ),
        (#""id":"a","location":{"lat":1}"#, "stops[0].location must be an array; found an object"),
    ])
    func rejectsABadStop(members: String, message: String) {
        expectRefused(message) { () throws(TrackingError) in
            try MessageCodec.decodeJourney(Self.journey("{\(Self.place),\(members)}"))
        }
    }

    @Test func aStopNeedsALocation() {
        expectRefused("stops[0].location is missing") { () throws(TrackingError) in
            try MessageCodec.decodeJourney(Self.journey(#"{"id":"a"}"#))
        }
    }

    @Test func rejectsTooManyStops() {
        let stop = { (index: Int) in #"{"id":"\#(index)","location":[0,0]}"# }
        let most = (0..<200).map(stop).joined(separator: ",")
        #expect((try? MessageCodec.decodeJourney(Self.journey(most)))?.stops.count == 200)
        expectRefused("stops must have at most 200 elements; found more") { () throws(TrackingError) in
            try MessageCodec.decodeJourney(Self.journey(most + "," + stop(200)))
        }
        let tenThousand = Self.journey((0..<10_000).map(stop).joined(separator: ","))
        #expect(
            throws: TrackingError(.payloadTooLarge, "a journey may have at most 32768 bytes; this one has 308901 bytes")
        ) {
            try MessageCodec.decodeJourney(tenThousand)
        }
        expectRefused("stops[0].id is missing") { () throws(TrackingError) in
            try MessageCodec.decodeJourney(Self.journey(Array(repeating: "{}", count: 10_000).joined(separator: ",")))
        }
    }

    @Test func encodesNoJourneyThatReadersReject() throws {
        let place = try #require(Coordinate(latitude: 1, longitude: 2))
        let stop = Journey.Stop(id: "a", location: place)
        expectRefused("stops must have at least one element; found none") { () throws(TrackingError) in
            try MessageCodec.encode(Journey(stops: []))
        }
        expectRefused("stops[1].id must differ from the ids of the stops before it") { () throws(TrackingError) in
            try MessageCodec.encode(Journey(stops: [stop, stop]))
        }
        for radius in [0, .nan, 1e9] {
            let bad = Journey(stops: [Journey.Stop(id: "a", location: place, radius: Meters(radius))])
            #expect(throws: TrackingError.self) { try MessageCodec.encode(bad) }
        }
        let large = Journey(
            stops: (0..<200).map {
                Journey.Stop(id: "\($0)", name: String(repeating: "x", count: 128), location: place)
            })
        #expect {
            try MessageCodec.encode(large)
        } throws: { ($0 as? TrackingError)?.code == .payloadTooLarge }
    }
}
