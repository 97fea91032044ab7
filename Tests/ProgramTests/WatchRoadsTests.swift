import GodwitOptions
import Testing
import TrackingCore
import TrackingSubscriber

@testable import godwit

/// The roads and the estimated arrival times that `godwit watch` prints and draws.
@Suite struct WatchRoadsTests {
    private let now = UnixTime(1_700_000_010)

    private func estimate(_ stops: [Estimate.Stop]) throws -> SubscriberEvent {
        .estimate(try TrackableID("van-7"), Estimate(time: self.now, basis: .route, stops: stops))
    }

    private func position(_ enhancement: Enhancement?) throws -> SubscriberEvent {
        let place = try #require(Coordinate(latitude: 52.5, longitude: -8.25))
        let update = LocationUpdate(location: Location(coordinate: place, time: self.now), enhancement: enhancement)
        return .location(
            try TrackableID("van-7"), ReceivedUpdate(update: update, skipped: [], isLate: false, isRetained: false))
    }

    private func text(_ format: WatchFormat, _ event: SubscriberEvent, showsRoads: Bool = false) -> String? {
        WatchPrinter(format: format, printsSkipped: false, showsRoads: showsRoads).text(event, receivedAt: self.now)
    }

    @Test func anEstimateHasTheMembersOfItsMessage() throws {
        let stops = [
            Estimate.Stop(id: "depot", eta: UnixTime(1_700_000_000), status: .arrived),
            Estimate.Stop(id: "4711", eta: UnixTime(1_700_003_600), distance: 4200, status: .enRoute),
        ]
        let object = try JSONValue(json: try #require(self.text(.json, try self.estimate(stops))).utf8)
        #expect(object["event"]?.text == "estimate" && object["trackable"]?.text == "van-7")
        #expect(object["basis"]?.text == "route" && object["stops"]?.list?.count == 2)
        #expect(object["stops"]?.list?.last?["eta"]?.number == 1_700_003_600)
        let text = self.text(.text, try self.estimate(stops))
        let time = TimeText.local(UnixTime(1_700_003_600))
        #expect(text?.hasSuffix(" van-7 estimate stop 4711 at \(time) in 4.2 km EN_ROUTE\n") == true, "\(text ?? "")")
        let arrived = try self.estimate([stops[0]])
        #expect(self.text(.text, arrived)?.hasSuffix(" estimate arrived at all stops\n") == true)
        #expect(self.text(.csv, arrived) == nil && self.text(.geojson, arrived) == nil)
    }

    @Test func aClearedEstimateHasNoMembers() throws {
        let cleared = SubscriberEvent.estimate(try TrackableID("van-7"), nil)
        #expect(self.text(.text, cleared)?.hasSuffix(" estimate unknown\n") == true)
        let object = try JSONValue(json: try #require(self.text(.json, cleared)).utf8)
        #expect(object.object?.keys.sorted() == ["event", "receivedAt", "trackable"])
    }

    @Test func theLiveTableHasTheArrivalAtTheNextStop() throws {
        func lines(_ stops: [Estimate.Stop]?) throws -> [String] {
            var table = LiveTable(hasColour: false)
            table.happened(.state(try TrackableID("van-7"), .online, nil))
            if let stops { table.happened(try self.estimate(stops)) }
            return table.lines(width: 200, height: 10, now: self.now) { _ in nil }
        }
        let depot = Estimate.Stop(id: "depot", eta: UnixTime(self.now.seconds - 5), status: .arrived)
        let soon = UnixTime(self.now.seconds + 3600)
        let next = try lines([depot, Estimate.Stop(id: "4711", eta: soon, status: .delayed)])
        #expect(next[0].contains(" next due eta ") && next[1].contains(" \(TimeText.local(soon).prefix(5)) "))
        let later = UnixTime(self.now.seconds + 3 * 86_400)
        #expect(try lines([Estimate.Stop(id: "4711", eta: later, status: .enRoute)])[1].contains(" 3 d "))
        #expect(try lines([depot])[1].contains(" arrived "))
        #expect(try !lines([Estimate.Stop(id: "4711", status: .unknown)])[0].contains(" eta "))
        #expect(try !lines(nil)[0].contains(" eta "))
    }

    @Test func csvAndGeoJSONHaveTheRoad() throws {
        let event = try self.position(Enhancement(confidence: .matched, road: "Rue \"d'Or\""))
        let feature = try JSONValue(json: try #require(self.text(.geojson, event)).dropFirst().utf8)
        #expect(feature["properties"]?["road"]?.text == "Rue \"d'Or\"")
        let plain = try JSONValue(json: try #require(self.text(.geojson, try self.position(nil))).dropFirst().utf8)
        #expect(plain["properties"]?["road"] == nil)
        let printer = WatchPrinter(format: .csv, printsSkipped: false, showsRoads: true)
        #expect(printer.header?.hasSuffix(",type,road\n") == true)
        let row = self.text(.csv, event, showsRoads: true)
        #expect(row?.hasSuffix(",ACTUAL,\"Rue \"\"d'Or\"\"\"\n") == true, "\(row ?? "")")
        #expect(self.text(.csv, try self.position(nil), showsRoads: true)?.hasSuffix(",ACTUAL,\n") == true)
        #expect(self.text(.csv, event)?.hasSuffix(",ACTUAL\n") == true)
    }
}
