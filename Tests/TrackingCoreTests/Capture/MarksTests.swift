import Testing

@testable import TrackingCore

@Suite struct MockPolicyTests {
    private func fix(_ extra: String? = nil, source: SourceKind? = .gps) -> Location {
        var fix = Location.fix(at: 0)
        fix.extra = extra.map { Array($0.utf8) }
        fix.source = source
        return fix
    }

    @Test(arguments: [
        (#"{"mock":true}"# as String?, SourceKind.gps, true),
        (#"{"mock":false}"#, .gps, false),
        (#"{"mock":1}"#, .gps, false), (nil, .gps, false), (nil, .simulated, true), (nil, .replay, false),
        ("{broken", .gps, false),
    ])
    func theSourceDecidesWhetherAFixIsAMock(extra: String?, source: SourceKind, isMock: Bool) {
        let fix = self.fix(extra, source: source)
        #expect(MockPolicy.isMock(fix) == isMock)
        #expect(MockPolicy.reject.applied(to: fix) == (isMock ? nil : fix))
    }

    @Test func aMarkIsAddedToTheMembersOfTheSource() {
        let marked = MockPolicy.mark.applied(to: self.fix(#"{"a":{"b":1} }"#, source: .simulated))
        #expect(marked?.extraText == #"{"a":{"b":1} ,"mock":true}"#)
        #expect(MockPolicy.mark.applied(to: self.fix(source: .simulated))?.extraText == #"{"mock":true}"#)
        #expect(MockPolicy.mark.applied(to: self.fix(#"{"mock":true}"#))?.extraText == #"{"mock":true}"#)
        #expect(MockPolicy.mark.applied(to: self.fix()) == self.fix())
    }

    @Test func aMarkThatDoesNotFitIsOmitted() {
        let full = "{\"a\":\"" + String(repeating: "x", count: 4080) + "\"}"
        #expect(MockPolicy.mark.applied(to: self.fix(full, source: .simulated))?.extraText == full)
    }
}

@Suite struct TrackingStatsTests {
    @Test func theSixStatisticsHaveOverlandsNamesAndValues() {
        let stats = TrackingStats(
            pauses: true, activity: .otherNavigation, desiredAccuracy: .best, deferral: 500, significantChange: .only)
        #expect(
            stats.added(to: .fix(at: 0)).extraText
                == #"{"pauses":true,"activity":"other_navigation","desired_accuracy":-1,"deferred":500,"#
                + #""significant_change":"exclusive","locations_in_payload":1}"#)
        let plain = TrackingStats(
            pauses: false, activity: .automotive, desiredAccuracy: .hundredMetres, deferral: nil,
            significantChange: .also(100))
        #expect(
            plain.added(to: .fix(at: 0)).extraText
                == #"{"pauses":false,"activity":"automotive_navigation","desired_accuracy":100,"deferred":0,"#
                + #""significant_change":"enabled","locations_in_payload":1}"#)
    }

    private static let stats = TrackingStats(
        pauses: false, activity: .other, desiredAccuracy: .best, deferral: nil, significantChange: .off)

    private func count(_ point: Location) throws -> Double? {
        try JSONValue(json: try #require(point.extra))["locations_in_payload"]?.number
    }

    /// Overland's documentation: "the number of locations that were sent in the batch along with this location".
    @Test func aPointHasTheNumberOfPointsInItsBatch() throws {
        func record(_ seq: UInt64, _ point: Location) -> SpoolRecord {
            SpoolRecord(seq: seq, time: point.time, kind: .point, payload: LocationCodec.encodeFeature(point))
        }
        var own = Location.fix(at: 9)
        own.extra = Array(#"{"locations_in_payload": 7}"#.utf8)
        let points = (1...12).map { Self.stats.added(to: .fix(at: Double($0))) } + [own, .fix(at: 14)]
        let event = SpoolRecord(seq: 99, time: UnixTime(1), kind: .event, payload: Array("{}".utf8))
        let records = points.enumerated().map { record(UInt64($0 + 1), $1) } + [event]
        let batch = HistoryBatch(id: "b", stream: StreamID("s")!, oldest: 1, records: SpoolRecords(records))
        let sent = batch.countingPoints.records
        for index in 0..<12 {
            let point = try LocationCodec.decodeFeature(sent[index].payload)
            #expect(try self.count(point) == 14)
            var before = points[index]
            before.extra = point.extra
            #expect(point == before)
        }
        #expect(Array(sent[12...]) == Array(records[12...]), "other records are unchanged")
        let single = HistoryBatch(id: "b", stream: StreamID("s")!, oldest: 1, records: [records[0], event])
        #expect(single.countingPoints == single)
    }

    @Test func aPointHasTheNumberOfPointsInItsUpdate() throws {
        let points = (1...3).map { Self.stats.added(to: .fix(at: Double($0))) }
        let update = LocationUpdate(location: points[2], skipped: Array(points[..<2])).countingPoints
        #expect(try (update.skipped + [update.location]).map(self.count) == [3, 3, 3])
        #expect(LocationUpdate(location: points[0]).countingPoints == LocationUpdate(location: points[0]))
    }

    @Test func aCountThatDoesNotFitIntoTheExtraIsOmitted() throws {
        var full = Location.fix(at: 0)
        full.extra = Array((#"{"locations_in_payload":1,"a":""# + String(repeating: "x", count: 4063) + #""}"#).utf8)
        #expect(full.extra?.count == Location.maximumExtraBytes)
        let update = LocationUpdate(location: full, skipped: Array(repeating: .fix(at: 1), count: 9))
        #expect(update.countingPoints == update)
    }

    @Test func theNetworksNameIsWrittenAsAString() {
        #expect(Location.fix(at: 0).addingWireless(#"a "b" é"#).extraText == #"{"wifi":"a \"b\" é"}"#)
        #expect(Location.fix(at: 0).addingWireless(nil).extra == nil)
    }
}

@Suite struct ClockTrustTests {
    private static let floor = ClockTrust.buildFloor.seconds

    private func moment(_ now: Double, wall: Double) -> Moment {
        Moment(now: MonotonicTime(.seconds(now)), wall: UnixTime(wall))
    }

    private func fix(_ seconds: Double, _ source: SourceKind? = .gps) -> Location {
        var fix = Location(coordinate: Location.origin, time: UnixTime(seconds))
        fix.source = source
        return fix
    }

    @Test func aClockThatIsSetIsBelieved() {
        let stamp = ClockTrust().stamp(at: self.moment(5, wall: Self.floor + 5))
        #expect(stamp == .init(time: UnixTime(Self.floor + 5), basis: .clock))
        #expect(stamp.detail.isEmpty)
    }

    @Test func timesBeforeTheFirstReceiverTimeAreMarkedAsUnset() {
        var trust = ClockTrust()
        let stamp = trust.stamp(at: self.moment(5, wall: 5))
        #expect(stamp == .init(time: UnixTime(5), basis: .unset))
        #expect(stamp.detail == ["clock": .text("unset")])
        let stamped = trust.stamped(self.fix(4), at: self.moment(5, wall: 5))
        #expect(stamped.time == UnixTime(4))
        #expect(stamped.extraText == #"{"clock":"unset"}"#)
    }

    @Test func theReceiversTimeContinuesWithTheMonotonicClock() {
        var trust = ClockTrust()
        #expect(
            trust.stamped(self.fix(Self.floor + 100), at: self.moment(50, wall: 50)) == self.fix(Self.floor + 100))
        #expect(
            trust.stamp(at: self.moment(80, wall: 80)) == .init(time: UnixTime(Self.floor + 130), basis: .receiver))
        // A fix without a time gets the receiver's time.
        #expect(trust.stamped(self.fix(3), at: self.moment(81, wall: 81)) == self.fix(Self.floor + 131))
        // After the device's clock was set, it is used.
        #expect(trust.stamp(at: self.moment(90, wall: Self.floor + 7)).basis == .clock)
    }

    /// The time of a network position may be that of the device's clock.
    @Test func networkPositionsKeepTheirTimesAndProvideNone() {
        var trust = ClockTrust()
        _ = trust.stamped(self.fix(Self.floor + 100), at: self.moment(50, wall: 50))
        let coarse = self.fix(Self.floor + 9_000, .network)
        #expect(trust.stamped(coarse, at: self.moment(60, wall: 60)) == coarse)
        #expect(
            trust.stamp(at: self.moment(70, wall: 70)) == .init(time: UnixTime(Self.floor + 120), basis: .receiver))
        #expect(trust.stamped(self.fix(3, .network), at: self.moment(71, wall: 71)).time == UnixTime(Self.floor + 121))
    }

    @Test(arguments: [SourceKind.replay, .simulated, nil])
    func recordingsKeepTheirTimesAndProvideNone(source: SourceKind?) {
        var trust = ClockTrust()
        let old = self.fix(1_550_475_950, source)
        #expect(trust.stamped(old, at: self.moment(5, wall: 5)) == old)
        _ = trust.stamped(self.fix(Self.floor + 1, source), at: self.moment(5, wall: 5))
        #expect(trust.stamp(at: self.moment(5, wall: 5)).basis == .unset)
    }
}

@Suite struct SendDeferralTests {
    @Test func pointsWaitForTheDistance() throws {
        var deferral = try SendDeferral(distance: 100)
        let goes = [0.0, 40, 80, 110, 150, 205, 215].enumerated().map {
            deferral.recorded(.fix(north: $1, at: Double($0)), now: MonotonicTime(.seconds($0)))
        }
        #expect(goes == [true, false, false, true, false, false, true])
        #expect(deferral.nextDeadline == nil)
    }

    @Test func nothingIsHeldForMoreThanTenMinutes() throws {
        var deferral = try SendDeferral(distance: 100)
        let goes = (0...2).map { deferral.recorded(.fix(at: Double($0)), now: MonotonicTime(.seconds($0))) }
        #expect(goes == [true, false, false])
        #expect(deferral.nextDeadline == MonotonicTime(.seconds(601)))
        let fired = [600, 601].map { deferral.timerFired(now: MonotonicTime(.seconds($0))) }
        #expect(fired == [false, true])
        #expect(deferral.nextDeadline == nil)
    }

    @Test func anImmediateUpdateRestartsTheDistance() throws {
        var deferral = try SendDeferral(distance: 100)
        let before = [0.0, 90].map { deferral.recorded(.fix(north: $0, at: 0), now: MonotonicTime(.zero)) }
        deferral.release()
        let after = [120.0, 190].map { deferral.recorded(.fix(north: $0, at: 0), now: MonotonicTime(.zero)) }
        #expect(before + after == [true, false, false, true])
        #expect(throws: TrackingError.self) { try SendDeferral(distance: 0) }
    }
}

@Suite struct NextBillionLocationTests {
    private var full: Location {
        var fix = Location.fix(at: 0.25, speed: 8.2, accuracy: 4.1)
        fix.coordinate = Coordinate(latitude: 52.629151, longitude: -8.661746) ?? fix.coordinate
        fix.bearing = 187.5
        fix.altitude = 19.5
        fix.batteryLevel = 0.55
        fix.mode = .balanced
        return fix
    }

    @Test func everyMemberIsWritten() {
        #expect(
            String(decoding: NextBillionLocation(self.full).encoded, as: UTF8.self)
                == #"{"location":{"lat":52.629151,"lon":-8.661746},"timeStamp":1700000000,"accuracy":4.1,"#
                + #""speed":8.2,"bearing":187.5,"altitude":19.5,"battery_level":55,"tracking_mode":"BALANCED"}"#)
    }

    @Test func everyMemberComesBack() throws {
        var whole = self.full
        whole.time = UnixTime(whole.time.seconds.rounded(.down))
        #expect(try NextBillionLocation(decoding: NextBillionLocation(self.full).encoded).location == whole)
        let bare = Location.fix(at: 3)
        #expect(try NextBillionLocation(decoding: NextBillionLocation(bare).encoded).location == bare)
        for percent in 0...100 {
            var fix = bare
            fix.batteryLevel = Double(percent) / 100
            #expect(NextBillionLocation(fix).batteryLevel == Double(percent))
            #expect(NextBillionLocation(fix).location == fix)
        }
    }

    @Test(arguments: ["ACTIVE", "active"]) func theCaseOfTheModeDoesNotMatter(mode: String) throws {
        let text = #"{"location":{"lat":1,"lon":2},"timeStamp":1,"tracking_mode":"\#(mode)"}"#
        #expect(try NextBillionLocation(decoding: Array(text.utf8)).trackingMode == .active)
    }

    @Test(arguments: [#""timeStamp":1700000000"#, #""timestamp":1700000000000"#, #""timeStamp":1.7e12"#])
    func timeIsInSecondsOrMilliseconds(member: String) throws {
        let text = #"{"location":{"lat":1,"lon":2},"# + member + "}"
        #expect(try NextBillionLocation(decoding: Array(text.utf8)).timeStamp == UnixTime(1_700_000_000))
    }

    @Test(arguments: [
        (#"{"timeStamp":1}"#, "location"), (#"{"location":{"lat":1},"timeStamp":1}"#, "lon"),
        (#"{"location":{"lat":91,"lon":1},"timeStamp":1}"#, "lat"), (#"{"location":{"lat":1,"lon":1}}"#, "timestamp"),
        (#"{"location":{"lat":1,"lon":1},"timeStamp":1,"battery_level":101}"#, "battery_level"),
        (#"{"location":{"lat":1,"lon":1},"timeStamp":1,"tracking_mode":"fast"}"#, "tracking_mode"),
        (#"{"location":{"lat":1,"lon":1},"timeStamp":1e15}"#, "timeStamp"),
    ])
    func aMemberOutOfRangeIsNamed(text: String, member: String) {
        #expect {
            try NextBillionLocation(decoding: Array(text.utf8))
        } throws: {
            ($0 as? TrackingError)?.message.contains(member) == true
        }
    }
}
