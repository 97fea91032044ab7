import Testing
import TrackingCore
import TrackingPublisher

@testable import TrackingGateway

@Suite struct OverlandDecoderTests {
    private func decode(_ fixture: String) throws -> PhoneBatch {
        try OverlandDecoder.decode(clientFixture(fixture), receivedAt: UnixTime(noon + 3600))
    }

    @Test func iOS13WholeBatch() throws {
        let batch = try self.decode("overland-ios-1.3.json")
        #expect(batch.refused.isEmpty)
        let point = try #require(batch.points.first)
        #expect(point.coordinate == Coordinate(latitude: 52.6291512, longitude: -8.6617461))
        #expect(point.time == UnixTime(noon))
        #expect(point.altitude == 80 && point.speed == 4 && point.bearing == 271)
        #expect(point.accuracyHorizontal == 5 && point.accuracyVertical == 3)
        #expect(point.accuracySpeed == 0.61 && point.accuracyBearing == 4.2)
        #expect(point.motion == [.driving, .stationary] && point.batteryLevel == 0.85)
        #expect(point.tripID == "2026-05-01T11:58:10Z")
        let extra = point.extraMembers
        #expect(extra["wifi"]?.text == "HarbourNet" && extra["device_id"]?.text == "phone1")
        #expect(extra["unique_id"]?.text == "8F0C2A11-5B7E-4C19-9D55-0A6A6E0C7F42")
        #expect(extra["battery_state"]?.text == "unplugged" && extra["pauses"]?.flag == false)
        #expect(extra["tracking_mode"]?.number == 1 && extra["locations_in_payload"]?.number == 1)
    }

    /// A dictionary has its members in another order each time.
    @Test func ofTwoNamesForTheSameItIsAlwaysOneThatCounts() throws {
        let body = """
            {"locations":[{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.5,52.5]},"properties":\
            {"timestamp":"2026-05-01T12:00:00Z","altitude":80,"altitude_accuracy":9,"vertical_accuracy":3,"speed":4,\
            "course":271,"horizontal_accuracy":5,"battery_level":0.85,"wifi":"x","device_id":"phone1"}}]}
            """
        for _ in 0..<200 {
            let batch = try OverlandDecoder.decode(Array(body.utf8), receivedAt: UnixTime(noon))
            #expect(batch.points.map(\.accuracyVertical) == [3])
        }
    }

    @Test func iOS13VisitsAndActionsAreEvents() throws {
        let events = try self.decode("overland-ios-1.3.json").events
        #expect(events.map(\.kind) == ["VISIT", "PAUSED", "TRIP_ENDED", "TRIP_STARTED"])
        #expect(events[0].detail["arrival"]?.number == noon - 3600 && events[0].detail["departure"] == nil)
        #expect(events[0].location?.accuracyHorizontal == 21)
        #expect(events[1].detail["action"]?.text == "paused_location_updates" && events[1].location == nil)
        #expect(events[2].detail["distance"]?.number == 4210.77 && events[2].detail["endedBy"]?.text == "user")
        #expect(events[2].detail["steps"]?.number == 0)
    }

    @Test func iOS13TripRecordAndTripUnderWay() throws {
        let trips = try self.decode("overland-ios-1.3.json").trips
        #expect(trips.map(\.state) == [.ended, .active])
        #expect(trips[0].id == "2026-05-01T11:58:10Z" && trips[0].mode == "bicycle")
        #expect(trips[0].distance == 4210.77 && trips[0].duration == 812.4 && trips[0].endedBy == .user)
        #expect(trips[0].end == UnixTime(noon + 702) && trips[0].startLocation?.accuracyHorizontal == 10)
        #expect(trips[1].distance == 1234.5 && trips[1].duration == 300)
        #expect(trips[1].lastLocation?.time == UnixTime(noon + 1500))
    }

    @Test func currentIsTheSameRecordAsInTheQueue() throws {
        let batch = try self.decode("overland-ios-1.3.json")
        let points = batch.records.filter { if case .point = $0.content { true } else { false } }
        #expect(points.count == 2)
        #expect(points[0].digest == points[1].digest)
        #expect(Set(batch.records.map(\.digest)).count == batch.records.count - 1)
    }

    @Test func iOSWithFractionalSpeed() throws {
        let point = try #require(try self.decode("overland-ios-fractional-speed.json").points.first)
        #expect(point.speed == 4.37 && point.bearing == 0)
        #expect(point.altitude == nil && point.accuracyVertical == nil && point.batteryLevel == nil)
        #expect(point.accuracySpeed == nil && point.accuracyBearing == nil && point.motion.isEmpty)
    }

    @Test func iOSValuesThatMeanUnknown() throws {
        let batch = try self.decode("overland-ios-invalid-values.json")
        #expect(batch.refused.isEmpty && batch.points.count == 2)
        #expect(batch.points[0].speed == nil && batch.points[0].bearing == nil && batch.points[0].altitude == nil)
        // This point describes a Wi-Fi zone.
        #expect(batch.points[1].altitude == nil && batch.points[1].accuracyVertical == nil)
        #expect(batch.points[1].speed == 0 && batch.points[1].batteryLevel == 1)
        #expect(batch.events.map(\.kind) == ["NO_POSITION", "STOPPING"])
        #expect(batch.events[0].location == nil && batch.events[0].time == noon + 2)
    }

    @Test func iOSFirstGeneration() throws {
        let batch = try self.decode("overland-ios-first-generation.json")
        #expect(batch.refused.isEmpty)
        let point = try #require(batch.points.first)
        #expect(point.coordinate == Coordinate(latitude: 52.5, longitude: -8.5))
        #expect(point.time == UnixTime(1_443_711_600))
        #expect(point.extraMembers["deferred"]?.number == 100)
        let trip = try #require(batch.trips.first)
        #expect(trip.mode == "walking" && trip.endedBy == .automatic)
        #expect(trip.startLocation?.coordinate == Coordinate(latitude: 52.5, longitude: -8.5))
        #expect(trip.lastLocation?.coordinate == Coordinate(latitude: 52.6, longitude: -8.6))
    }

    @Test func androidFork() throws {
        let batch = try self.decode("overland-android-fork.json")
        #expect(batch.refused.isEmpty)
        let points = batch.points
        #expect(points.map(\.time) == [UnixTime(noon + 0.123), UnixTime(noon + 1.5), UnixTime(noon + 2)])
        #expect(points.map(\.altitude) == [12.5, nil, 12.5])
        #expect(points.map(\.motion) == [[.walking], [.stationary], [.driving]])
        #expect(points[0].extraMembers["battery_state"]?.text == "charging")
        #expect(points[1].extraMembers["battery_state"]?.text == "unplugged")
        #expect(points[1].extraMembers["motion"]?.list?.count == 2)
        #expect(points[0].extraMembers["significant_change"]?.text == "enabled")
        let trip = try #require(batch.trips.first)
        #expect(trip.distance == 120.5 && trip.mode == "walk" && trip.id == "2026-05-01T11:58:10.250Z")
        #expect(trip.startLocation?.coordinate == Coordinate(latitude: 52.51, longitude: -8.51))
        #expect(trip.lastLocation?.coordinate == Coordinate(latitude: 52.5, longitude: -8.5))
    }

    @Test func bareListWithUnixTimes() throws {
        let batch = try self.decode("overland-bare-list.json")
        #expect(batch.points.map(\.time) == [UnixTime(noon + 0.25), UnixTime(noon + 1.25)])
        #expect(batch.points.map(\.altitude) == [33.5, 7])
    }

    @Test func ownTracksModeCountsFrom2001() throws {
        let point = try #require(try self.decode("overland-owntracks-mode.json").points.first)
        #expect(point.time == UnixTime(noon) && point.batteryLevel == 0.85)
    }

    @Test func oneBadFeatureHarmsNoOther() throws {
        let batch = try self.decode("overland-damaged-features.json")
        #expect(batch.points.map(\.time) == [UnixTime(noon), UnixTime(noon + 9), UnixTime(noon + 10)])
        #expect(batch.refused.count == 13)
        #expect(batch.refused.allSatisfy { !$0.reason.contains("52.5") })
        #expect(batch.points[1].extraMembers.isEmpty)  // it nests too deep
    }

    @Test(arguments: [
        "", " ", "{", #"{"locations":[{"type":"Feature""#, #"{"locations":["#, "17", "null", "{}",
        #"{"locations":null}"#, #"{"locations":{}}"#, #"{"locations":"x"}"#, "<html></html>",
        #"{"locations":[]} {"locations":[]}"#, #"{"locations":[]}]"#,
    ])
    func unreadableBodyIsRefusedWhole(_ body: String) {
        #expect(throws: TrackingError.self) { try OverlandDecoder.decode(Array(body.utf8), receivedAt: UnixTime(noon)) }
    }

    @Test(arguments: [#"{"locations":[]}"#, "[]", "\u{FEFF}{\"locations\":[],\"current\":null,\"trip\":null}"])
    func emptyBatchIsOne(_ body: String) throws {
        let batch = try OverlandDecoder.decode(Array(body.utf8), receivedAt: UnixTime(noon))
        #expect(batch == PhoneBatch())
    }

    @Test func tooManyFeaturesAreRefused() {
        let body = "[" + String(repeating: "{},", count: PhoneBatch.maximumRecords) + "{}]"
        #expect {
            try OverlandDecoder.decode(Array(body.utf8), receivedAt: UnixTime(noon))
        } throws: {
            ($0 as? TrackingError)?.code == .payloadTooLarge
        }
    }

    @Test func unknownMembersAreKeptUpToALimit() throws {
        let long = String(repeating: "x", count: 5000)
        let body = #"""
            {"locations":[{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},
            "properties":{"timestamp":"2026-05-01T12:00:00Z","device_id":"a","note":"\#(long)"}}]}
            """#
        let point = try #require(
            try OverlandDecoder.decode(Array(body.utf8), receivedAt: UnixTime(noon)).points.first)
        #expect(point.extraMembers == ["device_id": .text("a")])
    }

    @Test func aBatchCutAnywhereNeverCrashes() throws {
        for fixture in ["overland-ios-1.3.json", "overland-android-fork.json"] {
            let body = try clientFixture(fixture)
            for count in stride(from: 0, to: body.count - 2, by: 7) {
                #expect(throws: TrackingError.self) {
                    try OverlandDecoder.decode(Array(body.prefix(count)), receivedAt: UnixTime(noon))
                }
            }
        }
    }

    @Test func theStartOfATripIsPublishedOnceWhenItsPlaceBecomesKnown() throws {
        func batch(_ place: String, mode: String = "car") throws -> PhoneBatch {
            let body = #"""
                {"locations":[],"trip":{"mode":"\#(mode)","start":"2026-05-01T11:58:10Z","distance":1,"start_location":\#(place)}}
                """#
            return try OverlandDecoder.decode(Array(body.utf8), receivedAt: UnixTime(noon))
        }
        let first = try batch("null")
        let later = try batch(
            #"""
            {"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},
            "properties":{"timestamp":"2026-05-01T11:58:12Z"}}
            """#)
        #expect(first.events.map(\.kind) == ["TRIP_STARTED"] && later.events.first?.location != nil)
        #expect(try batch("null", mode: "bicycle").records[0].digest == first.records[0].digest, "changed under way")
        #expect(first.events[0].detail["mode"]?.text == "car" && first.events[0].detail["name"] == nil)
        #expect(first.records[0].digest == later.records[0].digest && first.records[0].time == later.records[0].time)
        guard case .event(let one) = first.records[0].content, case .event(let other) = later.records[0].content else {
            Issue.record("both are events")
            return
        }
        #expect(one.id == other.id)
    }

    @Test(arguments: ["[-122.6,null,80]", "[null,45.5,80]"])
    func aCoordinateThatIsNullIsRefused(_ coordinates: String) throws {
        let body = #"""
            {"locations":[{"type":"Feature","geometry":{"type":"Point","coordinates":\#(coordinates)},
            "properties":{"timestamp":"2026-05-01T12:00:00Z"}}]}
            """#
        let batch = try OverlandDecoder.decode(Array(body.utf8), receivedAt: UnixTime(noon))
        #expect(batch.records.isEmpty && batch.refused.count == 1)
    }
}
