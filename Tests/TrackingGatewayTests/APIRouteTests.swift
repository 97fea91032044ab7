import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing
import TrackingCore
import TrackingHistory
import TrackingStore
import TrackingSubscriber
import TrackingTesting

@testable import TrackingGateway

@Suite struct APIRouteTests {
    @Test func positionsAreTaggedAndAskedForAgain() async throws {
        let stage = try await RecordedGateway(["van": 5, "bus": 3])
        let token = try await stage.gateway.token()
        try await stage.test { client in
            let answer = try await client.execute(uri: "/api/v1/positions", method: .get, headers: .bearer(token))
            #expect(answer.status == .ok && answer.headers[.contentType] == "application/geo+json")
            let features = try #require(answer.json?["features"]?.list)
            #expect(features.map { $0["id"]?.text } == ["bus", "van"])
            #expect(features[1]["properties"]?["seq"]?.number == 5)
            let tag = try #require(answer.headers[.eTag])
            var headers = HTTPFields.bearer(token)
            headers[.ifNoneMatch] = "\"other\", W/\(tag)"
            let again = try await client.execute(uri: "/api/v1/positions", method: .get, headers: headers)
            #expect(again.status == .notModified && again.body.readableBytes == 0 && again.headers[.eTag] == tag)
            try await stage.store([6], of: "van")
            let changed = try await client.execute(uri: "/api/v1/positions", method: .get, headers: headers)
            #expect(changed.status == .ok && changed.headers[.eTag] != tag)
        }
    }

    @Test func positionsCanBeChosenAndPaged() async throws {
        let stage = try await RecordedGateway(["van": 5, "bus": 3, "a/b, 100 %": 1])
        let token = try await stage.gateway.token()
        try await stage.test { client async throws in
            func ids(_ query: String) async throws -> [String?] {
                let answer = try await client.execute(
                    uri: "/api/v1/positions?\(query)", method: .get, headers: .bearer(token))
                #expect(answer.status == .ok, "\(answer.text)")
                return answer.json?["features"]?.list?.map { $0["id"]?.text } ?? []
            }
            #expect(try await ids("trackables=van") == ["van"])
            #expect(
                try await ids("trackables=van&trackable=a%2Fb%2C%20100%20%25&trackable=none") == ["a/b, 100 %", "van"])
            for list in ["van,bus", "van%2Cbus", "van&trackables=bus"] {
                #expect(try await ids("trackables=\(list)") == ["bus", "van"], "\(list)")
            }
            #expect(try await ids("bbox=-9%2C52.00045%2C-8%2C53") == ["van"])
            #expect(try await ids("bbox=-9,52.00045,-8,53") == ["van"])
            #expect(try await ids("limit=1") == ["a/b, 100 %"])
            #expect(try await ids("limit=1&after=a%2Fb%2C%20100%20%25") == ["bus"])
            for wrong in ["bbox=1,2,3", "bbox=0x1,2,3,4", "limit=0", "limit=x", "trackables="] {
                let answer = try await client.execute(
                    uri: "/api/v1/positions?\(wrong)", method: .get, headers: .bearer(token))
                #expect(answer.status == .badRequest && answer.json?["detail"] != nil, "\(wrong)")
            }
        }
    }

    @Test func anAfterThatIsNoneIsRefusedByItsName() async throws {
        let stage = try await RecordedGateway(["van": 1])
        let token = try await stage.gateway.token()
        try await stage.test { client in
            for wrong in ["%ff", "%", "", "%00"] {
                for path in ["positions", "trackables", "trackables/van/events"] {
                    let answer = try await client.execute(
                        uri: "/api/v1/\(path)?limit=1&after=\(wrong)", method: .get, headers: .bearer(token))
                    #expect(answer.status == .badRequest && answer.json?["detail"]?.text?.contains("after") == true)
                }
            }
            let trip = try await client.execute(
                uri: "/api/v1/trackables/van/history?trip=%ff", method: .get, headers: .bearer(token))
            #expect(trip.status == .badRequest && trip.json?["detail"]?.text?.contains("trip") == true)
        }
    }

    /// The ids are equal when compared as characters. They are two ids, ordered by their bytes.
    @Test func idsThatLookAlikeArePagedByTheirBytes() async throws {
        let ids = ["caf\u{65}\u{301}", "caf\u{E9}", "cafz"].map { Array($0.utf8) }
        let stage = try await RecordedGateway([:])
        for id in ids { try await stage.store(1...1, of: String(decoding: id, as: UTF8.self)) }
        let token = try await stage.gateway.token()
        try await stage.test { client async throws in
            for path in ["positions", "trackables"] {
                var found: [[UInt8]] = []
                var after = ""
                while true {
                    let uri = "/api/v1/\(path)?limit=1\(after)"
                    let answer = try await client.execute(uri: uri, method: .get, headers: .bearer(token)).json
                    let list = answer?["features"]?.list ?? answer?["trackables"]?.list
                    if let id = list?.first?["id"]?.text { found.append(Array(id.utf8)) }
                    guard let next = answer?["next"]?.text, found.count < 9 else { break }
                    after = "&after=" + next.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                }
                #expect(found == ids.sorted { $0.lexicographicallyPrecedes($1) }, "\(path)")
            }
        }
    }

    @Test func aTokenReadsItsOwnAlone() async throws {
        let stage = try await RecordedGateway(["van": 5, "bus": 3])
        let token = try await stage.gateway.token("a", read: ["bus"])
        let publisher = try await stage.gateway.token("b", publish: ["van"], read: [])
        try await stage.test { client async throws in
            func get(_ path: String, _ token: String) async throws -> RouterClient.Answer {
                try await client.execute(uri: "/api/v1/\(path)", method: .get, headers: .bearer(token))
            }
            #expect(try await get("positions", token).json?["features"]?.list?.count == 1)
            #expect(try await get("positions", publisher).json?["features"]?.list?.count == 0)
            #expect(try await get("trackables", token).json?["trackables"]?.list?.map { $0["id"]?.text } == ["bus"])
            for path in ["", "/position", "/history", "/trips", "/events"] {
                // A token without the right to read a trackable does not reveal its existence.
                for id in ["van", "none"] {
                    #expect(try await get("trackables/\(id)\(path)", token).status == .forbidden)
                }
                #expect(try await get("trackables/bus\(path)", token).status == .ok)
                let nobody = try await client.execute(uri: "/api/v1/trackables/bus\(path)", method: .get)
                #expect(nobody.status == .unauthorized)
            }
            for query in [
                "trackables=bus,van", "trackables=bus%2Cvan", "trackables=bus&trackables=van", "trackable=van",
            ] {
                #expect(try await get("positions?\(query)", token).status == .forbidden, "\(query)")
            }
            #expect(try await get("positions?trackables=bus&trackable=bus", token).status == .ok)
        }
    }

    @Test func trackablesArePaged() async throws {
        let counts = Dictionary(uniqueKeysWithValues: (10..<35).map { ("van-\($0)", 1) })
        let stage = try await RecordedGateway(counts)
        let token = try await stage.gateway.token()
        let few = try await stage.gateway.token("few", read: ["van-12", "van-30", "unknown"])
        try await stage.test { client async throws in
            func all(_ token: String, limit: Int) async throws -> [String] {
                var ids: [String] = []
                var after = ""
                while true {
                    let uri = "/api/v1/trackables?limit=\(limit)\(after)"
                    let answer = try await client.execute(uri: uri, method: .get, headers: .bearer(token))
                    ids += answer.json?["trackables"]?.list?.compactMap { $0["id"]?.text } ?? []
                    guard let next = answer.json?["next"]?.text else { return ids }
                    after = "&after=\(next)"
                }
            }
            #expect(try await all(token, limit: 7) == counts.keys.sorted())
            #expect(try await all(token, limit: 25) == counts.keys.sorted())
            #expect(try await all(few, limit: 1) == ["van-12", "van-30"])
        }
    }

    @Test(arguments: HistoryFormat.allCases) func historyIsWhatTheCommandWrites(format: HistoryFormat) async throws {
        let stage = try await RecordedGateway(["van": 4500])
        let token = try await stage.gateway.token()
        var writer = HistoryWriter(format, of: try TrackableID("van"))
        let points = (1...4500).map { RecordedGateway.point(UInt64($0)) }
        let expected = writer.begin() + points.flatMap { writer.append($0) } + writer.finish()
        try await stage.test { client in
            var headers = HTTPFields.bearer(token)
            headers[.accept] =
                "text/html, application/vnd.google-earth.kml+xml;q=0.8, text/plain;q=0, \(format.mediaType);q=0.9"
            let uri = "/api/v1/trackables/van/history"
            let named = try await client.execute(
                uri: "\(uri)?format=\(format.rawValue)", method: .get, headers: .bearer(token))
            #expect(named.status == .ok && named.headers[.contentType] == format.mediaType)
            #expect(named.text == String(decoding: expected, as: UTF8.self))
            guard format.mediaType != "application/json" else { return }
            let accepted = try await client.execute(uri: uri, method: .get, headers: headers)
            #expect(accepted.text == named.text)
        }
    }

    /// Number 5 is an event: no point is missing, also in a part of the history.
    @Test func aPartOfAHistoryIsInterruptedOnlyWherePointsAreMissing() async throws {
        let stage = try await RecordedGateway([:])
        try await stage.store([1, 2, 3, 4, 6, 7, 8, 10], of: "van")
        let event = TrackingEvent(
            id: "e5", stream: try #require(StreamID("one")), seq: 5, time: RecordedGateway.start, kind: .lowBattery,
            detail: [:])
        try await stage.store(events: [event], of: "van")
        let token = try await stage.gateway.token()
        try await stage.test { client async throws in
            for (query, pieces) in [
                ("", 2), ("&bbox=-9,51,-8,53", 2), ("&bbox=-9,51,-8,52.00085", 1), ("&max-points=6", 2),
            ] {
                let answer = try await client.execute(
                    uri: "/api/v1/trackables/van/history?format=gpx\(query)", method: .get, headers: .bearer(token))
                #expect(answer.text.components(separatedBy: "<trkseg>").count == pieces + 1, "\(query)")
                let features = try await client.execute(
                    uri: "/api/v1/trackables/van/history?\(query)", method: .get, headers: .bearer(token)
                ).json?["features"]?.list
                #expect(features?.filter { $0["interrupted"] == .flag(true) }.count == pieces - 1, "\(query)")
            }
        }
    }

    @Test func historyCanBeChosen() async throws {
        let stage = try await RecordedGateway(["van": 100])
        let token = try await stage.gateway.token()
        try await stage.test { client async throws in
            func count(_ query: String) async throws -> Int {
                let answer = try await client.execute(
                    uri: "/api/v1/trackables/van/history?\(query)", method: .get, headers: .bearer(token))
                #expect(answer.status == .ok, "\(query): \(answer.text)")
                return answer.json?["features"]?.list?.count ?? -1
            }
            let start = RecordedGateway.start
            func text(_ seconds: Double) -> String { ISO8601.text(start.advanced(by: .seconds(seconds))) }
            #expect(try await count("from=\(text(11))&to=\(text(21))") == 10)
            #expect(try await count("to=\(text(21).replacing("Z", with: "+00:00"))") == 20)
            #expect(try await count("bbox=-9,52,-8,52.00105") == 10)
            #expect(try await count("last=1h") == 0)
            #expect(try await count("max-points=5") == 5)
            #expect(try await count("trip=none") == 0)
            for wrong in [
                "from=yesterday", "from=1h&last=1h", "last=-1h", "from=now&to=2h", "max-points=1", "max-points=9999999",
                "format=exe", "bbox=0,0,0",
            ] {
                let answer = try await client.execute(
                    uri: "/api/v1/trackables/van/history?\(wrong)", method: .get, headers: .bearer(token))
                #expect(answer.status == .badRequest, "\(wrong)")
                #expect(answer.headers[.contentType] == "application/problem+json")
            }
            let unknown = try await client.execute(
                uri: "/api/v1/trackables/none/history", method: .get, headers: .bearer(token))
            #expect(unknown.status == .notFound)
        }
    }

    @Test func eventsArePagedEvenWhereManyAreOfOneTime() async throws {
        let stage = try await RecordedGateway(["van": 1])
        let token = try await stage.gateway.token()
        let stream = try #require(StreamID("one"))
        let events = (1...23).map { number in
            TrackingEvent(
                id: "e\(number)", stream: stream, seq: UInt64(100 + number),
                time: UnixTime(RecordedGateway.start.seconds + Double(number / 5)), kind: .lowBattery)
        }
        try await stage.store(events: events, of: "van")
        try await stage.test { client in
            var ids: [String] = []
            var after = ""
            repeat {
                let answer = try await client.execute(
                    uri: "/api/v1/trackables/van/events?limit=3\(after)", method: .get, headers: .bearer(token))
                #expect(answer.status == .ok)
                ids += answer.json?["events"]?.list?.compactMap { $0["id"]?.text } ?? []
                guard let next = answer.json?["next"]?.text else { break }
                after = "&after=\(next)"
            } while ids.count <= 23
            #expect(Set(ids) == Set(events.map(\.id)) && ids.count == 23)
            for wrong in ["x", "1_", "1_0", "nan_1_one", "1e300_1_one", "1_-1_one", "1_1_one%3F", "1_1_"] {
                let answer = try await client.execute(
                    uri: "/api/v1/trackables/van/events?after=\(wrong)", method: .get, headers: .bearer(token))
                #expect(answer.status == .badRequest)
            }
        }
    }

    /// An event that is recorded between two pages, with the time of the first page's last event, neither repeats nor
    /// hides another.
    @Test func eventsArePagedWhileMoreComeOfTheSameTime() async throws {
        let stage = try await RecordedGateway(["van": 1])
        let token = try await stage.gateway.token()
        @Sendable func event(_ seq: UInt64, _ stream: String) throws -> TrackingEvent {
            TrackingEvent(
                id: "\(stream)\(seq)", stream: try #require(StreamID(stream)), seq: seq, time: RecordedGateway.start,
                kind: .lowBattery)
        }
        try await stage.store(events: [try event(101, "b\"/ü"), try event(102, "b\"/ü")], of: "van")
        try await stage.test { client in
            func page(_ query: String) async throws -> JSONValue? {
                try await client.execute(
                    uri: "/api/v1/trackables/van/events?limit=1\(query)", method: .get, headers: .bearer(token)
                ).json
            }
            let first = try await page("")
            #expect(first?["events"]?.list?.first?["id"]?.text == "b\"/ü101")
            try await stage.store(events: [try event(100, "a")], of: "van")
            let next = try #require(first?["next"]?.text)
            let second = try await page("&after=\(next)")
            #expect(second?["events"]?.list?.first?["id"]?.text == "b\"/ü102" && second?["next"] == nil)
        }
    }

    @Test func tripsAreThoseOfTheCommand() async throws {
        let stage = try await RecordedGateway(["van": 600])
        let token = try await stage.gateway.token()
        try await stage.test { client in
            let answer = try await client.execute(
                uri: "/api/v1/trackables/van/trips", method: .get, headers: .bearer(token))
            let trips = try #require(answer.json?["trips"]?.list)
            #expect(trips.count == 1 && trips[0]["kind"] == .text("trip") && trips[0]["recorded"] == .flag(false))
            #expect(trips[0]["duration"]?.number == 599)
        }
    }

    /// The requested span begins within a trip, after its fastest part.
    @Test func aRecordedTripIsReturnedWhole() async throws {
        let stage = try await RecordedGateway([:])
        var points = (UInt64(1)...600).map(RecordedGateway.point)
        for place in points.indices { points[place].speed = place == 60 ? 40 : 5 }
        var trip = Trip(
            id: "t", mode: "car", start: points[0].time, stream: try #require(StreamID("one")), seq: 1000)
        (trip.state, trip.end, trip.duration) = (.ended, points[599].time, 599)
        try await stage.store(points, trip: trip, of: "van")
        let token = try await stage.gateway.token()
        let middle = ISO8601.text(RecordedGateway.start.advanced(by: .seconds(300)))
        try await stage.test { client in
            let answer = try await client.execute(
                uri: "/api/v1/trackables/van/trips?from=\(middle)", method: .get, headers: .bearer(token))
            let reported = try #require(answer.json?["trips"]?.list?.first { $0["recorded"] == .flag(true) })
            #expect(reported["topSpeed"]?.number == 40, "\(answer.text)")
        }
    }

    @Test func aPresentTrackableIsListedWithoutAPosition() async throws {
        let van = try TrackableID("van")
        let live = LiveState(
            known: { $0 == van ? .init(members: ["state": Array(#"{"state":"ONLINE"}"#.utf8)]) : nil },
            positions: { [:] }, present: { [van] }, isConnected: { true })
        let stage = try await RecordedGateway(["bus": 3], live: live)
        let token = try await stage.gateway.token()
        let other = try await stage.gateway.token("other", read: ["bus"])
        try await stage.test { client async throws in
            for (token, ids) in [(token, ["bus", "van"]), (other, ["bus"])] {
                let answer = try await client.execute(
                    uri: "/api/v1/trackables", method: .get, headers: .bearer(token))
                #expect(answer.json?["trackables"]?.list?.map { $0["id"]?.text } == ids)
            }
        }
    }

    /// Pages have recorded and live positions, also of trackables that the history does not have.
    @Test(arguments: 1...4) func pagesOfRecordedAndLivePositionsAreComplete(limit: Int) async throws {
        let ids = try ["a", "b", "c", "e", "g"].map { try TrackableID($0) }
        let live = Dictionary(uniqueKeysWithValues: ids.map { ($0, RecordedGateway.point(9)) })
        let state = LiveState(known: { _ in nil }, positions: { live }, isConnected: { true })
        let stage = try await RecordedGateway(["b": 1, "d": 1, "e": 1, "f": 20], live: state)
        let token = try await stage.gateway.token()
        let few = try await stage.gateway.token("few", read: ["b", "d", "g"])
        try await stage.test { client async throws in
            func all(_ token: String, _ more: String = "") async throws -> [String] {
                var (found, after): ([String], String?) = ([], "")
                while let last = after {
                    let query = "limit=\(limit)\(last.isEmpty ? "" : "&after=\(last)")\(more)"
                    let page = try await client.execute(
                        uri: "/api/v1/positions?\(query)", method: .get, headers: .bearer(token))
                    let places = page.json?["features"]?.list ?? []
                    #expect(places.count <= limit)
                    found += places.map { "\($0["id"]?.text ?? "")\($0["properties"]?["seq"]?.count ?? 0)" }
                    after = page.json?["next"]?.text
                }
                return found
            }
            #expect(try await all(token) == ["a9", "b9", "c9", "d1", "e9", "f20", "g9"])
            #expect(try await all(few) == ["b9", "d1", "g9"])
            // The recorded position of b is outside of the box, and that of f is beyond it.
            #expect(try await all(token, "&bbox=-9,52.0005,-8,52.0015") == ["a9", "b9", "c9", "e9", "g9"])
        }
    }

    @Test func aPositionOnTheRoadReplacesTheRecordedOneOfTheSameFix() async throws {
        let (van, place) = (try TrackableID("van"), RecordedGateway.point(5))
        let road = Enhancement(confidence: .matched, road: "Main Street", speedLimit: 13.9)
        let live = LiveState(
            known: { $0 == van ? .init(position: place, enhancement: road) : nil }, positions: { [van: place] },
            enhancements: { [van: road] }, isConnected: { true })
        let stage = try await RecordedGateway(["van": 5], live: live)
        let token = try await stage.gateway.token()
        let link = try await stage.gateway.access.share(van, from: place.time, for: .seconds(1e9))
        try await stage.test { client async throws in
            func get(_ path: String, _ token: String) async throws -> JSONValue? {
                try await client.execute(uri: "/api/v1/\(path)", method: .get, headers: .bearer(token)).json
            }
            let paths = ["trackables/van/position", "positions", "positions?trackable=van", "trackables/van"]
            for path in paths {
                let answer = try await get(path, token)
                let found = answer?["features"]?.list?.first ?? answer?["position"] ?? answer
                #expect(found?["enhanced"]?["road"] == .text("Main Street"), "\(path)")
                #expect(found?["enhanced"]?["speedLimit"] == .number(13.9), "\(path)")
            }
            let shared = try await get("trackables/van/position", link.text)?["enhanced"]
            #expect(shared == .object(["road": .text("Main Street"), "confidence": .text("matched")]))
        }
    }

    @Test func theCurrentStateIsReturned() async throws {
        var position = RecordedGateway.point(50)
        (position.batteryLevel, position.extra) = (0.5, Array(#"{"wifi":"home"}"#.utf8))
        let place = position
        let live = LiveState(
            known: { id in
                id.rawValue == "van"
                    ? .init(
                        position: place,
                        members: [
                            "state": Array(#"{"state":"ONLINE"}"#.utf8), "trip": Array(#"{"tripId":"x"}"#.utf8),
                            "presence": Array(#"{"lastSeen":1,"metadata":"bike \"3\", blue"}"#.utf8),
                            "resolution": Array(#"{"maximumSilence":5,"subscribers":2}"#.utf8),
                        ]) : nil
            }, positions: { [(try! TrackableID("van")): place] }, isConnected: { true })
        let stage = try await RecordedGateway(["van": 5, "bus": 3], live: live)
        let token = try await stage.gateway.token()
        let begin = place.time.advanced(by: .seconds(1))
        let tooLate = try await stage.gateway.access.share(
            try TrackableID("van"), from: begin, for: .seconds(1e9))
        let inTime = try await stage.gateway.access.share(
            try TrackableID("van"), from: place.time, for: .seconds(1e9))
        try await stage.test { client async throws in
            func get(_ path: String, _ token: String) async throws -> RouterClient.Answer {
                try await client.execute(uri: "/api/v1/\(path)", method: .get, headers: .bearer(token))
            }
            let van = try await get("trackables/van", token).json
            #expect(van?["state"]?["state"] == .text("ONLINE") && van?["streams"] == .number(1))
            // The metadata is also among the trackable's own members, and in the list.
            #expect(van?["metadata"] == .text(#"bike "3", blue"#) && van?["presence"]?["metadata"] == van?["metadata"])
            #expect(try await get("trackables/bus", token).json?["metadata"] == nil)
            let list = try await get("trackables", token).json?["trackables"]?.list
            #expect(list?.map { $0["metadata"] } == [nil, van?["metadata"]])
            #expect(try await get("trackables", inTime.text).json?["trackables"]?.list?.map { $0["metadata"] } == [nil])
            #expect(try await get("trackables/van", inTime.text).json?["metadata"] == nil)
            #expect(van?["position"]?["properties"]?["seq"] == .number(50))
            #expect(try await get("trackables/van/position", token).json?["properties"]?["seq"] == .number(50))
            #expect(try await get("trackables/bus/position", token).json?["properties"]?["seq"] == .number(3))
            // A share link returns no position from before its begin, and no recorded position.
            #expect(try await get("trackables/van/position", inTime.text).status == .ok)
            #expect(try await get("trackables/van/position", tooLate.text).status == .notFound)
            #expect(try await get("positions", tooLate.text).json?["features"] == .list([]))
            #expect(van?["trip"]?["tripId"] == .text("x"))
            let shared = try await get("trackables/van", inTime.text).json
            #expect(shared?["state"] != nil && shared?["first"] == nil && shared?["trip"] == nil)
            #expect(
                shared?["resolution"] == .object(["maximumSilence": .number(5)])
                    && van?["resolution"]?["subscribers"] != nil)
            #expect(van?["presence"] != nil && shared?["presence"] == nil && shared?["groups"] == nil)
            for answer in [shared?["position"], try await get("trackables/van/position", inTime.text).json] {
                #expect(answer?["properties"]?["time"] != nil)
                #expect(answer?["properties"]?["extra"] == nil && answer?["properties"]?["batteryLevel"] == nil)
            }
            #expect(van?["position"]?["properties"]?["extra"]?["wifi"] == .text("home"))
            for path in ["history", "trips", "events"] {
                #expect(try await get("trackables/van/\(path)", inTime.text).status == .forbidden)
            }
            #expect(try await get("trackables/bus/position", inTime.text).status == .forbidden)
        }
    }

    @Test func aGatewayReportsThatItHasNoHistory() async throws {
        let gateway = try TestGateway()
        let token = try await gateway.token()
        try await gateway.test { client in
            for path in ["history", "trips", "events", "position"] {
                let answer = try await client.execute(
                    uri: "/api/v1/trackables/van/\(path)", method: .get, headers: .bearer(token))
                #expect(answer.status == .notFound)
            }
            let positions = try await client.execute(uri: "/api/v1/positions", method: .get, headers: .bearer(token))
            #expect(positions.json?["features"] == .list([]))
        }
    }

    @Test func aHistoryThatIsAwayHarmsNothingElse() async throws {
        let gateway = try TestGateway()
        let token = try await gateway.token()
        try await gateway.test(history: BrokenHistory()) { client in
            for path in [
                "positions", "trackables", "trackables/van", "trackables/van/history", "trackables/van/events",
            ] {
                let answer = try await client.execute(uri: "/api/v1/\(path)", method: .get, headers: .bearer(token))
                #expect(answer.status == .serviceUnavailable && answer.headers[.retryAfter] != nil)
                #expect(answer.headers[.contentType] == "application/problem+json")
                #expect(!answer.text.contains("secret"))
            }
            #expect(try await client.execute(uri: "/healthz", method: .get).status == .ok)
            let ready = try await client.execute(uri: "/readyz", method: .get)
            #expect(ready.status == .serviceUnavailable)
            #expect(ready.json?["history"] == .flag(false) && ready.json?["database"] == .flag(true))
            #expect(try await client.execute(uri: "/session", method: .get, headers: .bearer(token)).status == .ok)
        }
    }

    @Test func oddPathsEndInAnAnswer() async throws {
        let stage = try await RecordedGateway(["a/b": 1, "..": 1, "van": 1, "ü ": 1])
        let token = try await stage.gateway.token()
        try await stage.test { client async throws in
            func status(_ path: String) async throws -> HTTPResponse.Status {
                try await client.execute(uri: path, method: .get, headers: .bearer(token)).status
            }
            // The decoded path is the id, with any characters.
            #expect(try await status("/api/v1/trackables/a%2Fb/position") == .ok)
            #expect(try await status("/api/v1/trackables/%2e%2e/position") == .ok)
            #expect(try await status("/api/v1/trackables/../position") == .ok)
            #expect(try await status("/api/v1/trackables/%C3%BC%20/position") == .ok)
            #expect(try await status("/api/v1/trackables/%2e%2e%2fvan/position") == .notFound)
            for odd in ["%", "%zz", "%00", "%0A", "%ff", String(repeating: "a", count: 129), "%0d%0aSet-Cookie:x"] {
                #expect(try await status("/api/v1/trackables/\(odd)/position") == .badRequest, "\(odd)")
            }
            for path in [
                "/api/v1/trackables//position", "/api/v1/%2e%2e/healthz", "/../etc/passwd", "/%2fhealthz",
            ] {
                #expect(try await status(path) == .notFound, "\(path)")
            }
        }
    }

    @Test func requestsAreCountedByTheirPatterns() async throws {
        let stage = try await RecordedGateway(["van": 1])
        let token = try await stage.gateway.token()
        try await stage.test { client in
            for id in ["van", "none", "x%2Fy"] {
                _ = try await client.execute(
                    uri: "/api/v1/trackables/\(id)/position?token=\(token)", method: .get)
            }
            _ = try await client.execute(uri: "/secret-path", method: .init("BREW")!)
            let page = try await client.execute(uri: "/metrics", method: .get).text
            let route = #"route="/api/v1/trackables/{id}/position""#
            #expect(page.contains(#"godwit_http_requests_total{method="GET",\#(route),status="200"} 1"#), "\(page)")
            #expect(page.contains(#"godwit_http_requests_total{method="GET",\#(route),status="404"} 2"#))
            #expect(page.contains(#"{method="other",route="NotFound",status="404"} 1"#))
            for secret in ["van", token, "secret-path", "BREW"] { #expect(!page.contains(secret)) }
        }
    }

    @Test func anUnsupportedMethodGetsTheAllowedOnes() async throws {
        let gateway = try TestGateway()
        let token = try await gateway.token()
        try await gateway.test { client in
            func ask(_ path: String, _ method: HTTPRequest.Method) async throws -> RouterClient.Answer {
                try await client.execute(uri: path, method: method, headers: .bearer(token))
            }
            for method in [HTTPRequest.Method.post, .put, .patch, .delete, .options, .trace] {
                let answer = try await ask("/api/v1/trackables/van/position", method)
                #expect(answer.status == .methodNotAllowed && answer.headers[.allow] == "GET, HEAD", "\(method)")
                #expect(answer.headers[.contentType] == "application/problem+json")
                #expect(answer.json?["status"]?.count == 405)
            }
            #expect(try await ask("/session", .patch).headers[.allow] == "GET, HEAD, POST, DELETE")
            #expect(try await ask("/api/v1/nothing", .post).status == .notFound)
        }
    }

    @Test func headIsAnsweredLikeGetWithoutABody() async throws {
        let gateway = try TestGateway()
        let token = try await gateway.token()
        try await gateway.test { client in
            let paths = ["/healthz", "/api/v1/openapi.json", "/api/v1/trackables/van/position", "/", "/api/v1/nothing"]
            for path in paths {
                let get = try await client.execute(uri: path, method: .get, headers: .bearer(token))
                let head = try await client.execute(uri: path, method: .head, headers: .bearer(token))
                #expect(head.status == get.status && head.body.readableBytes == 0, "\(path)")
                #expect(head.headers[.contentType] == get.headers[.contentType])
            }
        }
    }

    /// The routes for browsers and phones that the API description excludes.
    private static let undescribed = ["get /s/", "get /map/", "get /leaflet/", "get /tiles/"]

    /// The routes of the API and the described operations are the same.
    @Test func theDescriptionHasEveryRoute() async throws {
        let gateway = try TestGateway()
        let described = try await gateway.description()
        let subscriber = AssetSubscriber(
            configuration: SubscriberConfiguration(
                client: try ClientID("gateway"), session: try #require(SessionID("mine"))),
            transport: InMemoryBroker().client(try ClientID("gateway")))
        let routes = try Gateway(configuration: gateway.configuration, subscriber: subscriber).router().routes
            .filter { $0.method != .head }.map { "\($0.method.rawValue.lowercased()) \($0.path)" }
            .filter { $0 != "get /" && !Self.undescribed.contains(where: $0.hasPrefix) }
        // These routes exist only with an intake.
        let ofPhones = ["get /api/v1/quarantine", "post /skynet/asset/{id}/track"]
        #expect(Set(routes + ofPhones) == described)
    }

    /// No object has two members of one name, because parsers differ in their choice between them.
    @Test func theDescriptionHasNoDuplicateMembers() throws {
        let text = String(decoding: PageFile.content("openapi.json"), as: UTF8.self)
        var open: [Set<Substring>] = []
        for line in text.split(separator: "\n") {
            let content = line.drop { $0 == " " }
            if let name = content.prefixMatch(of: #/"([^"]+)": /#)?.1 {
                #expect(open[open.count - 1].insert(name).inserted, "\(name)")
            }
            if content.hasSuffix("{") || content.hasSuffix("[") { open.append([]) }
            if content.hasPrefix("}") || content.hasPrefix("]") { open.removeLast() }
        }
        #expect(open.isEmpty)
        let operations = text.matches(of: #/"operationId": "(\w+)"/#).map(\.1)
        #expect(Set(operations).count == operations.count)
        let root = try JSONValue(json: text.utf8)
        let tagged = (root["paths"]?.object ?? [:]).values.flatMap { $0.object.map { Array($0.values) } ?? [] }
        let used = Set(tagged.flatMap { $0["tags"]?.list ?? [] }.compactMap(\.text))
        #expect(root["paths"]?["/api/v1/quarantine"]?["get"]?["responses"]?["400"] != nil)
        let tags = root["tags"]?.list?.compactMap { $0["name"]?.text } ?? []
        #expect(Set(tags).count == tags.count && Set(tags) == used)
    }

    /// The routes reject unknown members. Only phones may send others.
    @Test func theDescribedBodiesHaveNoOtherMembers() throws {
        let root = try JSONValue(json: PageFile.content("openapi.json"))
        var bodies = 0
        for (path, operations) in root["paths"]?.object ?? [:] where !path.hasPrefix("/skynet") {
            for (method, operation) in operations.object ?? [:] {
                let content = operation["requestBody"]?["content"]?["application/json"]
                guard let schema = content?["schema"] else { continue }
                bodies += 1
                let other = schema["additionalProperties"] ?? schema["unevaluatedProperties"]
                #expect(other == .flag(false), "\(method) \(path)")
            }
        }
        #expect(bodies == 8)
    }
}

extension RouterPath {
    /// `true` for a route of the map page, which is not part of the API.
    fileprivate var isOfThePage: Bool {
        self.description == "/" || ["/s/", "/map/", "/leaflet/"].contains { self.description.hasPrefix($0) }
    }
}

/// A history that always fails.
struct BrokenHistory: HistoryStore {
    private func fail<Value>() throws(TrackingError) -> Value {
        throw TrackingError(.storeFailed, "postgres://secret@db is away")
    }

    func store(_ batch: RecordingBatch) async throws(TrackingError) -> StoreReport { try self.fail() }
    func acknowledgement(of trackable: TrackableID) async throws(TrackingError) -> Acknowledgement { try self.fail() }
    func points(
        _ query: PointQuery, after: PointName?, limit: Int
    ) async throws(TrackingError) -> PointPage { try self.fail() }
    func coverage(of trackable: TrackableID) async throws(TrackingError) -> [StreamID: StreamCoverage] {
        try self.fail()
    }
    func lastPositions(of trackables: [TrackableID]?) async throws(TrackingError) -> [LastPosition] { try self.fail() }
    func lastPositions(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [LastPosition] {
        try self.fail()
    }
    func trackables(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [TrackableSummary] {
        try self.fail()
    }
    func summaries(of trackables: [TrackableID]) async throws(TrackingError) -> [TrackableSummary] { try self.fail() }
    func trackables(in box: GeoBox, during times: TimeSpan) async throws(TrackingError) -> [TrackableID] {
        try self.fail()
    }
    func trips(
        of trackable: TrackableID, during times: TimeSpan, after last: Trip?, limit: Int
    ) async throws(TrackingError) -> [Trip] { try self.fail() }
    func events(
        of trackable: TrackableID, during times: TimeSpan, after last: TrackingEvent?, limit: Int
    ) async throws(TrackingError) -> [TrackingEvent] { try self.fail() }
    func newest() async throws(TrackingError) -> NewestTimes { try self.fail() }
    func verify(_ trackable: TrackableID) async throws(TrackingError) -> VerifyReport? { try self.fail() }
    func erase(_ trackable: TrackableID, before: UnixTime?, now: UnixTime) async throws(TrackingError) -> EraseReport {
        try self.fail()
    }
    func removeExpired(
        before limit: UnixTime, of trackables: [TrackableID]?, except exceptions: Set<TrackableID>
    ) async throws(TrackingError) -> Int { try self.fail() }
    func quarantined(limit: Int) async throws(TrackingError) -> [RefusedMessage] { try self.fail() }
    func close() async throws(TrackingError) {}
}
