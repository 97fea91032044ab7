import Testing
import TrackingCore
import TrackingHistory

/// The history files of Ably Asset Tracking's publishers as a format of exports and imports. The members are those of the
/// schemas in Ably's repository of test resources.
@Suite struct AblyHistoryTests {
    @Test func anExportHasTheMembersOfVersion2() throws {
        let text = try written([Points.full(), Points.at(-0.5, 1, -2)], .ably)
        let file = try JSONValue(json: Array(text.utf8))
        #expect(file["version"]?.text == "2.0.0" && file["agents"]?.text == "godwit")
        let events = try #require(file["events"]?.list)
        #expect(events.count == 2)
        let known: Set = [
            "time", "accuracyHorizontal", "accuracyVertical", "bearing", "accuracyBearing", "speed", "accuracySpeed",
            "floor",
        ]
        for event in events {
            #expect(Set(event.object?.keys.map { $0 } ?? []) == ["type", "geometry", "properties"])
            #expect(event["geometry"]?["coordinates"]?.list?.count == 3)
            #expect(known.isSuperset(of: event["properties"]?.object?.keys.map { $0 } ?? ["none"]))
        }
        #expect(events[1]["geometry"]?["coordinates"]?.list?.map(\.number) == [-2, 1, 0])
        #expect(try JSONValue(json: Array(try written([], .ably).utf8))["events"] == .list([]))
    }

    @Test func anExportIsRead() throws {
        let points = Points.walk(50, seed: 6)
        let (events, failure) = read(try written(points, .ably), .ably)
        #expect(failure == nil && events.refusals.isEmpty)
        #expect(events.fixes.map(\.time) == points.map(\.time))
        #expect(events.fixes.map(\.coordinate) == points.map(\.coordinate))
        #expect(events.fixes.map(\.speed) == points.map(\.speed))
        #expect(events.fixes.map(\.bearing) == points.map(\.bearing))
        #expect(events.fixes.map(\.accuracyHorizontal) == points.map(\.accuracyHorizontal))
        #expect(events.fixes.map(\.altitude) == points.map { $0.altitude ?? 0 })
    }

    @Test(arguments: [Samples.ablyVersion1, Samples.ablyVersion2]) func bothVersionsAreRead(text: String) throws {
        let (events, failure) = read(text, .ably)
        #expect(failure == nil)
        #expect(events.refusals.count == 1)
        #expect(events.fixes.count == 2)
        let first = try #require(events.fixes.first)
        #expect(first.coordinate == Points.at(0, 52.629151, -8.661746).coordinate)
        #expect(first.time == UnixTime(1_666_166_854.5) && first.altitude == 5 && first.accuracyHorizontal == 20)
        #expect(first.bearing == 90 && first.speed == 3.5 && first.stream == nil && first.seq == nil)
    }

    /// The version is examined before the events that follow it, and the file is not read further.
    @Test(arguments: [#""3.0.0""#, "3", #""10.1.0""#, "0", #""two""#, "-1", "null", "2e9"])
    func anotherVersionIsRejectedByItsNumber(version: String) throws {
        let event = #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1,0]},"properties":{"time":5}}"#
        let (events, failure) = read(#"{"version":\#(version),"events":[\#(event)]}"#, .ably)
        #expect(events.fixes.isEmpty)
        let number = version.filter { $0 != "\"" }
        #expect(failure?.message.contains("its version is \(number).") == true, "\(failure?.message ?? "none")")
        #expect(read(#"{"events":[\#(event)],"version":\#(version)}"#, .ably).failure == failure)
    }

    /// A member `version` inside of an event, or in a string, is not that of the file.
    @Test func theVersionOfAnEventIsNone() {
        let event =
            #"{"version":9,"type":"Feature","geometry":{"type":"Point","coordinates":[2,1,0]},"#
            + #""properties":{"time":5,"version":9}}"#
        let text = #"[{"agents":"a \"version\":9, {","events":[\#(event)],"version":1}]"#
        let (events, failure) = read(text, .ably)
        #expect(failure == nil && events.fixes.count == 1, "\(events)")
    }

    @Test(arguments: [
        (#"{"version":1}"#, #"line 1: the object has no list "events""#),
        (#"{"version":1,"events":[7]}"#, "line 1: the value is not a JSON object, or its nesting is too deep"),
        (#"{"version":1,"events":[{"type":"Feature"}]}"#, "line 1: the geometry is not a Point"),
        ("{\"version\":1,\"events\":[\n{\"type\":", "the file ends unexpectedly within line 2"),
        (
            #"{"version":1,"events":[{"type":"Feature","geometry":{"type":"Point","coordinates":[null,1,0]},"properties":{"time":5}}]}"#,
            "line 1: a coordinate is null"
        ),
    ])
    func aMalformedFileIsReportedWithItsLine(text: String, reason: String) {
        let (events, failure) = read(text, .ably)
        #expect(events.fixes.isEmpty && failure == nil && events.refusals == [reason])
    }

    @Test func aFileWithoutJSONIsNamedByItsFormat() {
        #expect(read("", .ably).failure?.message.contains("history file of Ably") == true)
    }
}

extension Samples {
    private static let ablyEvents = """
        "events":[
        {"geometry":{"coordinates":[-8.661746,52.629151,5],"type":"Point"},"properties":{"accuracyHorizontal":20,
        "bearing":90,"speed":3.5,"time":1666166854.5},"type":"Feature"},
        {"geometry":{"coordinates":[-8.66,52.63],"type":"Point"},"properties":{"time":1666166855.5},"type":"Feature"},
        {"geometry":{"coordinates":[-8.66,52.64,5],"type":"Point"},"properties":{"speed":0},"type":"Feature"}
        ]
        """
    static let ablyVersion1 = "{\(Self.ablyEvents),\n\"version\":1}\n"
    static let ablyVersion2 =
        "{\"version\":\"2.0.0\",\"agents\":\"ably-cocoa/1.2.16 ably-asset-tracking-swift/1.0.0 iOS/16.1.0\",\n\(Self.ablyEvents)}"
}
