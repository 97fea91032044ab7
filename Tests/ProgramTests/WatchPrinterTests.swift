import Foundation
import GodwitOptions
import Testing
import TrackingCore
import TrackingSubscriber

@testable import godwit

/// The text that `godwit watch` prints and draws.
@Suite struct WatchPrinterTests {
    private let now = UnixTime(1_700_000_010)

    private func point(_ seq: UInt64, _ latitude: Double = 52.5) throws -> Location {
        var point = Location(
            coordinate: try #require(Coordinate(latitude: latitude, longitude: -8.25)),
            time: UnixTime(1_700_000_000 + Double(seq)))
        (point.seq, point.stream, point.speed, point.bearing) = (seq, StreamID("k3"), 12.5, 359.25)
        return point
    }

    private func update(
        _ id: String = "van-7", isLate: Bool = false, kind: LocationUpdate.Kind = .actual
    ) throws -> SubscriberEvent {
        let update = LocationUpdate(
            location: try self.point(3), skipped: [try self.point(1), try self.point(2)], kind: kind)
        let received = ReceivedUpdate(update: update, skipped: update.skipped, isLate: isLate, isRetained: false)
        return .location(try TrackableID(id), received)
    }

    private func lines(
        _ format: WatchFormat, _ event: SubscriberEvent, skipped: Bool = false
    ) -> [String] {
        let printer = WatchPrinter(format: format, printsSkipped: skipped)
        return (printer.text(event, receivedAt: self.now) ?? "").split(separator: "\n").map(String.init)
    }

    @Test func skippedPointsComeFirstAndInOrderWhereTheyAreWanted() throws {
        for format in WatchFormat.allCases {
            #expect(self.lines(format, try self.update()).count == 1)
            #expect(self.lines(format, try self.update(), skipped: true).count == 3)
        }
        let rows = self.lines(.csv, try self.update(), skipped: true)
        #expect(rows.map { $0.split(separator: ",", omittingEmptySubsequences: false)[10] } == ["1", "2", "3"])
        #expect(
            rows.map { $0.split(separator: ",", omittingEmptySubsequences: false)[11] } == ["true", "true", "false"])
    }

    /// Names come from other programs.
    @Test func aNameDoesNotTurnALineRoundOrBeginOne() throws {
        let lines = self.lines(.text, try self.update("a\u{202E}b\u{2028}c"))
        #expect(lines.count == 1 && lines.first?.contains(#" a\u202eb\u2028c location "#) == true)
    }

    @Test(arguments: [WatchFormat.text, .json]) func theRawLaneHasSkippedPointsToo(format: WatchFormat) throws {
        guard case .location(let id, let received) = try self.update() else { return }
        #expect(self.lines(format, .raw(id, received)).count == 1)
        let lines = self.lines(format, .raw(id, received), skipped: true)
        #expect(lines.map { $0.contains("skipped") } == [true, true, false])
    }

    @Test func csvHasAHeaderAndAsManyFieldsALine() throws {
        let header = try #require(WatchPrinter(format: .csv, printsSkipped: false).header)
        let line = try #require(self.lines(.csv, try self.update()).first)
        #expect(
            line.split(separator: ",", omittingEmptySubsequences: false).count == header.split(separator: ",").count)
        #expect(
            line == "van-7,2023-11-14T22:13:23.000Z,52.5,-8.25,,,12.5,359.25,,k3,3,false,false,"
                + "\(TimeText.rfc3339(self.now)),location,,,,,,,ACTUAL")
        #expect(self.lines(.csv, try self.update("a,\"b")).first?.hasPrefix("\"a,\"\"b\",") == true)
        let accented = self.lines(.csv, try self.update("a,\"\u{301}b")).first ?? ""
        #expect(accented.utf8.starts(with: "\"a,\"\"\u{301}b\",".utf8))
        #expect(self.lines(.csv, .state(try TrackableID("van"), .online, nil)).isEmpty)
    }

    @Test func geojsonIsATextSequence() throws {
        let text = try #require(
            WatchPrinter(format: .geojson, printsSkipped: true).text(try self.update(), receivedAt: self.now))
        let records = text.split(separator: "\u{1E}")
        #expect(text.first == "\u{1E}" && text.last == "\n" && records.count == 3)
        for record in records {
            let feature = try #require(
                try JSONSerialization.jsonObject(with: Data(record.utf8)) as? [String: Any])
            #expect(feature["type"] as? String == "Feature")
            #expect(feature["id"] as? String == "van-7")
        }
    }

    @Test func jsonIsOneObjectALineForEachKindOfEvent() throws {
        let id = try TrackableID("van \"7\"")
        guard case .location(_, let received) = try self.update() else { return }
        let inForce = ResolutionInForce(
            resolution: .standard, isNear: true, subscribers: 2, isLowBattery: false, state: .online, filter: .both,
            maximumSilence: .seconds(60))
        let events: [(String, SubscriberEvent)] = [
            ("location", .location(id, received)), ("location", .locationCleared(id)), ("raw", .raw(id, received)),
            ("state", .state(id, .failed, TrackingError(.takenOver, "why"))),
            ("presence", .presence(id, PublisherPresence(status: .present, lastSeen: self.now))),
            ("resolution", .resolution(id, inForce)), ("resolution", .resolution(id, nil)),
        ]
        for (name, event) in events {
            let line = try #require(self.lines(.json, event).first)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(object["event"] as? String == name)
            #expect(object["trackable"] as? String == "van \"7\"")
            #expect(object["receivedAt"] as? Double == self.now.seconds)
        }
        #expect(self.lines(.json, .connection(nil)).isEmpty)
    }

    @Test func thePresenceHasTheMetadata() throws {
        let presence = PublisherPresence(status: .present, lastSeen: nil, metadata: "bike \"3\"")
        let event = SubscriberEvent.presence(try TrackableID("van-7"), presence)
        let line = try #require(self.lines(.json, event).first)
        #expect(line.contains(#""status":"PRESENT","metadata":"bike \"3\""}"#))
        #expect(self.lines(.text, event).first?.hasSuffix(#"publisher PRESENT, metadata bike "3""#) == true)
    }

    @Test func aPositionOnTheRoadHasItsRoad() throws {
        let id = try TrackableID("van-7")
        func event(_ enhancement: Enhancement) throws -> SubscriberEvent {
            let update = LocationUpdate(location: try self.point(3), enhancement: enhancement)
            return .location(id, ReceivedUpdate(update: update, skipped: [], isLate: false, isRetained: false))
        }
        func text(_ enhancement: Enhancement) throws -> String? { self.lines(.text, try event(enhancement)).first }
        #expect(try text(Enhancement(confidence: .matched, road: "A\u{202E}B"))?.hasSuffix(#" #3 on A\u202eB"#) == true)
        let presumed = Enhancement(confidence: .presumed, roadClass: "track")
        #expect(try text(presumed)?.hasSuffix("presumed on a track road") == true)
        #expect(try text(Enhancement(confidence: .offRoad))?.hasSuffix("off the road") == true)
        let line = try #require(
            self.lines(
                .json, try event(Enhancement(confidence: .matched, road: "B 1", way: 7, offset: 3.5, finalSeq: 2))
            ).first)
        #expect(line.contains(#""enhanced":{"road":"B 1","way":7,"offset":3.5,"confidence":"matched","final":2}"#))
        guard case .location(_, let received) = try self.update() else { return }
        #expect(self.lines(.json, .publishedLocation(id, received)).isEmpty)
    }

    /// Skipped points count as measured even if they arrive with a predicted one.
    @Test func eachFormatSaysWhatIsPredicted() throws {
        let event = try self.update(kind: .predicted)
        func last(_ format: WatchFormat) -> [String] { self.lines(format, event, skipped: true) }
        #expect(last(.text).map { $0.hasSuffix(" predicted") } == [false, false, true])
        #expect(last(.csv).map { $0.hasSuffix(",ACTUAL") } == [true, true, false])
        #expect(last(.csv).last?.hasSuffix(",PREDICTED") == true)
        let types = try last(.geojson).map { line in
            (try self.object(String(line.dropFirst()))["properties"] as? [String: Any])?["type"] as? String
        }
        #expect(types == ["ACTUAL", "ACTUAL", "PREDICTED"])
        #expect(try last(.json).map { try self.object($0)["type"] as? String } == types)
        guard case .location(let id, let received) = event else { return }
        #expect(self.lines(.text, .raw(id, received)).last?.hasSuffix(" predicted") == true)
        var table = LiveTable(hasColour: false)
        table.happened(event)
        let drawn = table.lines(width: 200, height: 30, now: self.now) { _ in nil }
        #expect(drawn[1].contains(" ~52.50000 -8.25000 "))
    }

    // MARK: - Trips and events

    private func trip(_ state: Trip.State = .active, mode: String = "bicycle") throws -> Trip {
        var trip = Trip(
            id: "t1", mode: mode, start: UnixTime(1_700_000_000), stream: try #require(StreamID("k3")), seq: 4)
        (trip.state, trip.distance, trip.duration) = (state, 1_240, 3_905)
        (trip.startLocation, trip.lastLocation) = (try self.point(1), try self.point(3))
        if state == .ended { (trip.end, trip.endedBy) = (UnixTime(1_700_003_905), .user) }
        return trip
    }

    private func event(
        _ kind: String = "LOW_BATTERY", _ detail: [String: TrackingEvent.DetailValue] = ["level": .number(0.09)],
        at location: Location? = nil
    ) throws -> TrackingEvent {
        TrackingEvent(
            id: "e1", stream: try #require(StreamID("k3")), seq: 5, time: UnixTime(1_700_000_005),
            kind: .init(rawValue: kind), detail: detail, location: location)
    }

    private func object(_ text: String?) throws -> [String: Any] {
        let line = try #require(text)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    @Test func aTripOrAnEventIsALineOfText() throws {
        let van = try TrackableID("van-7")
        func text(_ event: SubscriberEvent) -> String? {
            self.lines(.text, event).first.map { String($0.dropFirst(TimeText.local(self.now).count + 1)) }
        }
        #expect(text(.trip(van, try self.trip())) == "van-7 trip ACTIVE bicycle 1.2 km 1:05:05")
        #expect(text(.trip(van, try self.trip(.ended))) == "van-7 trip ENDED bicycle 1.2 km 1:05:05 (user)")
        #expect(text(.trip(van, nil)) == "van-7 trip unknown")
        #expect(text(.locationCleared(van)) == "van-7 location unknown")
        #expect(text(.event(van, try self.event())) == #"van-7 event LOW_BATTERY {"level":0.09}"#)
        #expect(
            text(.event(van, try self.event("ZONE", [:], at: self.point(1))))
                == "van-7 event ZONE at 52.500000,-8.250000")
    }

    @Test func textOfOthersStaysOnItsLine() throws {
        let van = try TrackableID("van-7")
        let nasty = "a\r\nb\u{1B}[2J\u{9B}c\u{2028}\u{202E}"
        let long = ["x": TrackingEvent.DetailValue.text(String(repeating: "\u{2028}y", count: 60_000))]
        let events: [SubscriberEvent] = [
            .trip(van, try self.trip(mode: nasty)), .event(van, try self.event(nasty, long)),
        ]
        for event in events {
            #expect(self.lines(.text, event).count == 1 && self.lines(.text, event)[0].count < 300)
            #expect(self.lines(.text, event)[0].unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
            #expect(self.lines(.json, event).count == 1)
            for format in [WatchFormat.json, .geojson, .csv] {
                let line = try #require(self.lines(format, event).first)
                #expect(line.unicodeScalars.dropFirst().allSatisfy { $0.properties.generalCategory != .control })
                #expect(!line.contains("\u{2028}") && !line.contains("\u{202E}"))
            }
            var table = LiveTable(hasColour: false)
            table.happened(event)
            let drawn = table.lines(width: 500, height: 30, now: self.now) { _ in nil }
            #expect(drawn.allSatisfy { $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } })
        }
        var endless = try self.trip()
        (endless.distance, endless.duration) = (.greatestFiniteMagnitude, .greatestFiniteMagnitude)
        for format in WatchFormat.allCases { #expect(!self.lines(format, .trip(van, endless)).isEmpty) }
    }

    @Test func jsonHasTheMembersOfTheMessage() throws {
        let van = try TrackableID("van-7")
        let trip = try self.object(self.lines(.json, .trip(van, try self.trip())).first)
        #expect(trip["event"] as? String == "trip" && trip["trackable"] as? String == "van-7")
        #expect(trip["tripId"] as? String == "t1" && trip["state"] as? String == "ACTIVE")
        #expect((trip["currentLocation"] as? [String: Any])?["type"] as? String == "Feature")
        let event = try self.object(self.lines(.json, .event(van, try self.event())).first)
        #expect(event["event"] as? String == "event" && event["kind"] as? String == "LOW_BATTERY")
        #expect((event["detail"] as? [String: Any])?["level"] as? Double == 0.09)
        let cleared = try self.object(self.lines(.json, .trip(van, nil)).first)
        #expect(Set(cleared.keys) == ["event", "trackable", "receivedAt"])
    }

    @Test func geojsonHasAFeatureWhereverItIs() throws {
        let van = try TrackableID("van-7")
        func feature(_ event: SubscriberEvent) throws -> (feature: [String: Any], properties: [String: Any]) {
            let text = try #require(self.lines(.geojson, event).first)
            #expect(text.first == "\u{1E}")
            let feature = try self.object(String(text.dropFirst()))
            #expect(feature["type"] as? String == "Feature" && feature["id"] as? String == "van-7")
            return (feature, try #require(feature["properties"] as? [String: Any]))
        }
        let trip = try feature(.trip(van, try self.trip(.ended)))
        #expect((trip.feature["geometry"] as? [String: Any])?["coordinates"] as? [Double] == [-8.25, 52.5])
        #expect(trip.properties["event"] as? String == "trip" && trip.properties["distance"] as? Double == 1_240)
        let event = try feature(.event(van, try self.event()))
        #expect(event.feature["geometry"] is NSNull)
        #expect(event.properties["event"] as? String == "event" && event.properties["id"] as? String == "e1")
        #expect(self.lines(.geojson, .trip(van, nil)).isEmpty)
    }

    /// A spreadsheet would run cells that begin with a formula sign.
    @Test func csvHasNoFormulas() throws {
        let van = try TrackableID("-2+3")
        let trip = try #require(self.lines(.csv, .trip(van, try self.trip(mode: "=1+1"))).first)
        #expect(trip.hasPrefix("'-2+3,") && trip.contains(",'=1+1,") && trip.contains(",-8.25,"))
    }

    @Test func csvHasItsOwnColumnsForThem() throws {
        let van = try TrackableID("van-7")
        let received = TimeText.rfc3339(self.now)
        #expect(
            self.lines(.csv, .trip(van, try self.trip())) == [
                "van-7,2023-11-14T22:13:23.000Z,52.5,-8.25,,,12.5,359.25,,k3,4,,,\(received),"
                    + "trip,ACTIVE,t1,bicycle,1240.0,3905.0,,"
            ])
        #expect(
            self.lines(.csv, .event(van, try self.event())) == [
                "van-7,2023-11-14T22:13:25.000Z,,,,,,,,k3,5,,,\(received),"
                    + #"event,LOW_BATTERY,,,,,"{""level"":0.09}","#
            ])
        let started = try self.event("TRIP_STARTED", ["tripId": .text("t1")])
        #expect(self.lines(.csv, .event(van, started)).first?.contains(",TRIP_STARTED,t1,") == true)
        #expect(self.lines(.csv, .trip(van, nil)).isEmpty)
    }

    // MARK: - The live table

    /// The newest log line is shown on at most three lines.
    @Test func logLinesAreShownBelowTheTable() throws {
        var table = try self.table()
        table.logged = (count: 7, newest: String(repeating: "x", count: 250) + "\u{1B}y\n")
        let drawn = table.lines(width: 100, height: 30, now: self.now) { _ in nil }
        #expect(drawn.suffix(4).dropLast().map(\.count) == [100, 100, 57])
        #expect(drawn.suffix(4).dropLast().joined().hasSuffix(#"x\u001by"#))
        let wide = table.lines(width: 400, height: 30, now: self.now) { _ in nil }
        #expect(wide.last?.hasSuffix("; 7 log lines, shown at the end") == true)
        let low = table.lines(width: 100, height: 6, now: self.now) { _ in nil }
        #expect(low.count <= 6)
    }

    @Test func theTableHasTheTripUnderWayAndTheLastEvents() throws {
        let van = try TrackableID("van-7")
        var table = try self.table()
        table.happened(.trip(van, try self.trip()))
        for number in 1...9 { table.happened(.event(van, try self.event("KIND_\(number)", [:]))) }
        let high = table.lines(width: 200, height: 40, now: self.now) { _ in nil }
        #expect(high[1].contains("1.2 km 1:05:05 bicycle"))
        let time = TimeText.local(UnixTime(1_700_000_005))
        #expect(high[2...].dropLast() == [""] + (5...9).map { "\(time) van-7 KIND_\($0)" })
        let low = table.lines(width: 200, height: 12, now: self.now) { _ in nil }
        #expect(low[2...].dropLast() == [""] + (8...9).map { "\(time) van-7 KIND_\($0)" })
        table.happened(.trip(van, try self.trip(.ended)))
        #expect(!table.lines(width: 200, height: 40, now: self.now) { _ in nil }[1].contains("bicycle"))
    }

    @Test func aTrackableWithoutMessagesIsShownAsSuch() throws {
        var table = LiveTable(hasColour: false)
        table.happened(.state(try TrackableID("van-7"), .offline, nil))
        table.happened(.silent(try TrackableID("van-7")))
        #expect(table.lines(width: 200, height: 30, now: self.now) { _ in nil }[1].contains("nothing received"))
    }

    private func table(colour: Bool = false) throws -> LiveTable {
        var table = LiveTable(hasColour: colour)
        table.happened(.connection(nil))
        table.happened(.state(try TrackableID("van-7"), .online, nil))
        table.happened(try self.update())
        let inForce = ResolutionInForce(
            resolution: try Resolution(accuracy: .high, desiredInterval: .seconds(1), minimumDisplacement: 2),
            isNear: false, subscribers: 1, isLowBattery: false, state: .online, filter: .both,
            maximumSilence: .seconds(60))
        table.happened(.resolution(try TrackableID("van-7"), inForce))
        return table
    }

    @Test func theDestinationAndTheWayToItAreShown() throws {
        let id = try TrackableID("van-7")
        let destination = try #require(Coordinate(latitude: 52.6638, longitude: -8.6305))
        var inForce = ResolutionInForce(
            resolution: .standard, isNear: false, subscribers: 1, isLowBattery: false, state: .online, filter: .both,
            maximumSilence: .seconds(60),
            approach: Approach(destination: destination, distance: 4210, timeToArrival: .seconds(370)))
        let text = self.lines(.text, .resolution(id, inForce)).first
        #expect(text?.hasSuffix("ONLINE), destination 52.663800,-8.630500 in 4.2 km 0:06:10") == true)
        let line = try #require(self.lines(.json, .resolution(id, inForce)).first)
        let json = try self.object(line)
        #expect(json["destination"] as? [Double] == [-8.6305, 52.6638])
        #expect(json["distance"] as? Int == 4210 && json["timeToArrival"] as? Int == 370)
        var table = try self.table()
        table.happened(.resolution(id, inForce))
        #expect(table.lines(width: 200, height: 30, now: self.now) { _ in nil }[1].contains(" 4.2 km 0:06:10 "))
        inForce.approach = Approach(destination: destination)
        #expect(self.lines(.text, .resolution(id, inForce)).first?.hasSuffix("52.663800,-8.630500") == true)
    }

    private func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }

    @Test func aRowHasEverythingThatIsKnown() throws {
        let lines = try self.table().lines(width: 200, height: 30, now: self.now) { _ in .seconds(3) }
        let head = "trackable state age speed resolution next due position bearing trip"
        #expect(self.words(lines[0]) == self.words(head))
        #expect(
            self.words(lines[1]) == self.words("van-7 ONLINE 7 s 45.0 km/h HIGH/1000/2 3 s 52.50000 -8.25000 359°"))
        #expect(lines.last == "connected; asking for nothing; + finer, - coarser, 0 nothing, q quit")
    }

    @Test func overdueLateAndInvalidMessagesAreShown() throws {
        var table = try self.table()
        table.happened(.badMessage(topic: "t", TrackingError(.invalidPayload, "x")))
        table.happened(.state(try TrackableID("van-7"), .stale, nil))
        table.happened(try self.update(isLate: true))
        let lines = table.lines(width: 200, height: 30, now: self.now) { _ in .seconds(-1) }
        #expect(lines[1].contains("STALE") && lines[1].contains("overdue"))
        #expect(lines.last?.contains("1 invalid message ignored") == true)
    }

    @Test func eachStateHasItsColour() throws {
        for (state, code) in [(SubscriberState.online, 32), (.stale, 33), (.offline, 90), (.failed, 31)] {
            var table = try self.table(colour: true)
            table.happened(.state(try TrackableID("van-7"), state, nil))
            let line = table.lines(width: 200, height: 30, now: self.now) { _ in nil }[1]
            #expect(line.hasPrefix("\u{1B}[\(code)m") && line.hasSuffix("\u{1B}[0m"))
        }
    }

    @Test func itIsCutToTheTerminal() throws {
        var table = try self.table()
        for number in 0..<5_000 { table.happened(.state(try TrackableID("bike-\(number)"), .offline, nil)) }
        let lines = table.lines(width: 40, height: 24, now: self.now) { _ in nil }
        #expect(lines.count <= 23)
        #expect(lines.allSatisfy { $0.count <= 40 })
        #expect(lines.contains("… and 4982 more"))
    }

    @Test func namesCannotDrawOverTheTable() throws {
        var table = LiveTable(hasColour: false)
        table.happened(.state(try TrackableID("a\u{2028}b"), .online, nil))
        #expect(table.lines(width: 200, height: 30, now: self.now) { _ in nil }[1].hasPrefix(#"a\u2028b"#))
    }

    @Test func theKeysAskForFinerCoarserAndNothing() throws {
        let start = try Resolution(accuracy: .balanced, desiredInterval: .seconds(4), minimumDisplacement: 5)
        let view = LiveView(table: LiveTable(hasColour: false), request: start)
        #expect(view.pressed("+") == .request)
        #expect(view.request == (try Resolution(accuracy: .high, desiredInterval: .seconds(2), minimumDisplacement: 5)))
        _ = view.pressed("-")
        _ = view.pressed("-")
        #expect(view.request == (try Resolution(accuracy: .low, desiredInterval: .seconds(8), minimumDisplacement: 5)))
        #expect(view.pressed("0") == .request)
        #expect(view.request == nil)
        #expect(view.pressed("x") == nil)
        #expect(view.pressed("q") == .quit)
        for _ in 0..<100 { _ = view.pressed("+") }
        #expect(view.request?.accuracy == .maximum && view.request?.desiredInterval == .milliseconds(125))
    }

    /// A resolution beyond the bounds of the keys remains.
    @Test func aStepNeverGoesTheOtherWay() throws {
        let finest = try Resolution(accuracy: .high, desiredInterval: .zero, minimumDisplacement: 0)
        #expect(finest.oneStepFiner.desiredInterval == .zero)
        #expect(finest.oneStepCoarser.desiredInterval == .milliseconds(125))
        let coarsest = try Resolution(accuracy: .low, desiredInterval: .seconds(7_200), minimumDisplacement: 0)
        #expect(coarsest.oneStepCoarser.desiredInterval == .seconds(7_200))
        #expect(coarsest.oneStepFiner.desiredInterval == .seconds(3_600))
    }

    @Test func aSilentWatcherHasNoKeysForRequests() throws {
        let view = LiveView(table: LiveTable(hasColour: false, isSilent: true), request: nil)
        #expect("+-0".allSatisfy { view.pressed($0) == nil })
        #expect(view.request == nil && view.pressed("q") == .quit)
        let lines = view.lines(size: (200, 30), now: self.now) { _ in nil }
        #expect(lines.last == "connecting; silent; q quit")
    }

    @Test func aRefusalIsShownUntilItIsGranted() throws {
        let (van, bus) = (try TrackableID("van"), try TrackableID("bus"))
        let refusal = TrackingError(.notAuthorized, "no")
        func there(_ id: TrackableID, _ status: PublisherPresence.Status) -> SubscriberEvent {
            .presence(id, PublisherPresence(status: status, lastSeen: nil))
        }
        var table = try self.table()
        func foot() -> String? { table.lines(width: 200, height: 30, now: self.now) { _ in nil }.last }
        var refusals = Watcher.Refusals(named: [van, bus])
        for event in [SubscriberEvent.refused(van, refusal), there(van, .unknown), there(bus, .absent)] {
            table.happened(event)
            #expect(refusals.happened(event) == nil)
        }
        #expect(foot()?.hasPrefix("refused: no; ") == true)
        for event in [there(van, .absent), .refused(bus, refusal)] { #expect(refusals.happened(event) == nil) }
        table.happened(there(van, .absent))
        #expect(foot()?.hasPrefix("connected; ") == true)
        #expect(refusals.happened(.refused(van, refusal)) == refusal, "now both are")
    }
}
