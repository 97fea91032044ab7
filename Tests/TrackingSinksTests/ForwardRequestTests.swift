import Testing
import TrackingCore

@testable import TrackingSinks

/// The addresses of sinks, the requests to them, and the meaning of their answers.
@Suite struct ForwardRequestTests {
    @Test(arguments: [
        ("overland+https://tracks.example.org/overland", "https://tracks.example.org/overland", nil),
        ("overland+http://127.0.0.1:8080/overland?token=a", "http://127.0.0.1:8080/overland?token=a", nil),
        ("webhook+https://example.org", "https://example.org", nil),
        ("overland+https://[::1]:8080/a#token-file=/etc/token", "https://[::1]:8080/a", "/etc/token"),
        ("webhook+https://example.org/a#secret-file=b#c", "https://example.org/a", "b#c"),
    ])
    func anAddressHasAProtocolAndAURL(text: String, url: String, file: String?) throws {
        let address = try ForwardAddress(text)
        #expect(address.url == url && address.secretFile == file)
        #expect(text.hasPrefix("\(address.kind.rawValue)+"))
    }

    @Test(arguments: [
        "", "https://example.org/overland", "overland", "overland+", "overland+ftp://example.org/", "mqtt+https://a/",
        "overland+https://", "overland+https:///a", "overland+https://me:secret@example.org/", "webhook+https://a b/",
        "overland+https://example.org/#secret-file=a", "overland+https://example.org/#token-file=",
        "overland+https://example.org/" + String(repeating: "a", count: 2048), "mqtt://", "mqtt://a/b", "mqtt://a#",
        "mqtt://a#token-file=a", "mqtt://a#password-file=a&", "mqtt://a#topic-root=+", "mqtt+mqtt://a",
        "mqtts://me:secret@broker.example.org/path",
    ])
    func anAddressOfAnotherFormIsRejected(text: String) {
        let error = #expect(throws: TrackingError.self) { _ = try ForwardAddress(text) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("secret@") == false)
    }

    @Test func theDescriptionHasNeitherPathNorQuery() throws {
        let address = try ForwardAddress("overland+https://example.org:8443/a/b?token=secret")
        #expect("\(address)" == "overland+https://example.org:8443")
        #expect(!address.name.contains("secret"))
        let other = try ForwardAddress("overland+https://example.org:8443/a/b?token=secret#token-file=x")
        #expect(address.name == other.name)
    }

    @Test func theAddressOfABrokerHasFilesAndATopicRoot() throws {
        let address = try ForwardAddress(
            "mqtts://me:secret@broker.example.org#password-file=/a b#c&ca=/etc/ca.pem&topic-root=acme/eu")
        #expect(address.kind == .mqtt && address.url == "mqtts://me:secret@broker.example.org")
        #expect(address.secretFile == "/a b#c" && address.authorities == "/etc/ca.pem")
        #expect(address.topicRoot.path == "acme/eu")
        #expect("\(address)" == "mqtts://broker.example.org:8883")
        let names = try [
            "mqtts://me@broker.example.org", "mqtts://you@broker.example.org", "mqtts://broker.example.org",
            "mqtt://broker.example.org", "mqtts://me@broker.example.org#topic-root=acme",
        ].map { try ForwardAddress($0).name }
        #expect(Set(names).count == names.count)
        #expect(try ForwardAddress("mqtts://me:x@broker.example.org:8883#ca=a").name == names[0])
    }

    @Test func twoTopicRootsOfOneBrokerHaveTheSameLogin() throws {
        let logins = try [
            "mqtts://me@a#topic-root=x", "mqtts://me:secret@a:8883", "mqtts://you@a", "mqtt://me@a", "mqtts://a",
            "overland+https://a/",
        ].map { try ForwardAddress($0).brokerLogin }
        #expect(logins[0] != nil && logins[0] == logins[1] && Set(logins.prefix(4)).count == 3)
        #expect(logins[4] == nil && logins[5] == nil)
    }

    private static func point() throws -> Location {
        let place = try #require(Coordinate(latitude: 52.66, longitude: -8.63))
        var point = Location(coordinate: place, time: UnixTime(1_790_000_000.25))
        (point.stream, point.seq) = (StreamID("s"), 7)
        (point.altitude, point.accuracyHorizontal, point.speed, point.bearing) = (12.5, 4, 8.25, 271)
        (point.batteryLevel, point.motion, point.tripID) = (0.83, [.driving], "t1")
        point.extra = Array(#"{"wifi":"home", "id":9007199254740993,"n":1.10}"#.utf8)
        return point
    }

    @Test func anOverlandRequestHasEveryMember() throws {
        let van = try TrackableID("van/7")
        var trip = Trip(
            id: "t1", mode: "car", start: UnixTime(1_789_999_000), stream: try #require(StreamID("s")), seq: 1)
        trip.distance = 1200
        let batch = ForwardBatch(trackable: van, points: [try Self.point()], current: try Self.point(), trip: trip)
        let (body, count) = batch.overlandBody
        let feature = """
            {"type":"Feature","geometry":{"coordinates":[-8.63,52.66],"type":"Point"},"properties":{"altitude":12.5,\
            "battery_level":0.83,"course":271,"device_id":"van/7","horizontal_accuracy":4,"motion":["driving"],\
            "speed":8.25,"timestamp":"2026-09-21T14:13:20.25Z","trip_id":"t1","wifi":"home", "id":9007199254740993,"n":1.10}}
            """
        #expect(count == 1)
        #expect(
            String(decoding: body, as: UTF8.self) == """
                {"locations":[\(feature)],"current":\(feature),"trip":{"distance":1200,"mode":"car",\
                "start":"2026-09-21T13:56:40Z","start_location":null,"current_location":null}}
                """)
    }

    /// A member such as `action` would make a visit of the point.
    @Test func aMemberWithAnotherMeaningInOverlandIsLeftOut() throws {
        var point = try Self.point()
        point.extra = Array(#"{"action":"visit","device_id":"x","wifi":"a"}"#.utf8)
        let (body, _) = ForwardBatch(trackable: try TrackableID("van"), points: [point]).overlandBody
        let text = String(decoding: body, as: UTF8.self)
        #expect(!text.contains("visit") && !text.contains("\"x\"") && text.contains(#""wifi":"a""#))
    }

    @Test func aCloudEventHasAStableName() throws {
        var loose = try Self.point()
        loose.stream = nil
        let batch = ForwardBatch(trackable: try TrackableID("van 7/ä"), points: [try Self.point(), loose])
        let events = try #require(try JSONValue(json: batch.webhookBody.bytes).list)
        #expect(events.count == 2 && events[0]["id"] == .text("s/7"))
        #expect(events[1]["id"]?.text?.utf8.count == 32)
        #expect(
            events[0]["source"] == .text("/trackables/van%207%2F%C3%A4") && events[0]["specversion"] == .text("1.0"))
        #expect(events[0]["data"]?["properties"]?["speed"] == .number(8.25))
        #expect(try JSONValue(json: batch.webhookBody.bytes).list == events)
    }

    @Test(arguments: [true, false]) func aRequestHasALimitedSize(isOverland: Bool) throws {
        var point = try Self.point()
        point.extra = Array("{\"rest\":\"\(String(repeating: "x", count: 3000))\"}".utf8)
        let batch = ForwardBatch(trackable: try TrackableID("van"), points: Array(repeating: point, count: 1000))
        let (body, count) = isOverland ? batch.overlandBody : batch.webhookBody
        #expect(body.count <= ForwardBatch.maximumBytes && body.count > ForwardBatch.maximumBytes - 5000)
        #expect((100..<1000).contains(count))
    }

    private static func answer(_ status: Int, _ body: String = "", _ retryAfter: Duration = .zero) throws
        -> ForwardAnswer
    {
        ForwardAnswer(
            status: status, body: Array(body.utf8), retryAfter: retryAfter, count: 3,
            from: try ForwardAddress("overland+https://example.org/"))
    }

    @Test func onlyAnAnswerOKOfAnOverlandServerAcknowledges() throws {
        #expect(try Self.answer(200, #"{"result":"ok"}"#).verdict == .acknowledged)
        #expect(try Self.answer(201, #"{"result":"ok","saved":3}"#).verdict == .acknowledged)
        for body in ["", "ok", "[]", #"{"result":true}"#, #"{"result":"error"}"#, #"{"error":"full"}"#, "<html>"] {
            let answer = try Self.answer(200, body)
            #expect(answer.verdict == .failed && answer.reason.contains("address"), "\(body)")
        }
        #expect(try Self.answer(200, #"{"error":"full"}"#).reason.contains(": full"))
        #expect(try Self.answer(500, #"{"result":"ok"}"#).verdict == .failed)
    }

    @Test func anErrorNamesItsRemedy() throws {
        #expect(try Self.answer(401).reason.contains("--token-file"))
        #expect(try Self.answer(404).reason.contains("path"))
        #expect(try Self.answer(302).verdict == .failed)
        #expect(try Self.answer(413).verdict == .rejectedContent(count: 3))
        #expect(try Self.answer(503, "", .seconds(120)).requestedWait == .seconds(120))
        #expect(try Self.answer(429, "", .seconds(99_999_999)).requestedWait == ForwardAnswer.longestRequestedWait)
    }
}
