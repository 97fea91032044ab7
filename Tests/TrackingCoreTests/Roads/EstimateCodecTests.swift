import Testing

@testable import TrackingCore

@Suite struct EstimateCodecTests {
    @Test func readsTheExampleOfTheProtocol() throws {
        let text = #"""
            { "time": 1795411097, "basis": "route",
              "stops": [
                { "id": "4711", "eta": 1795411697, "earliest": 1795411607, "latest": 1795411787, "distance": 7400,
                  "status": "EN_ROUTE" } ],
              "route": "_ie|xA_uybQo}@_pRn}@_pR_xq@~oR" }
            """#
        let estimate = try MessageCodec.decodeEstimate(text.payload)
        #expect(estimate.basis == .route && estimate.route.count == 4)
        let stop = Estimate.Stop(
            id: "4711", eta: UnixTime(1_795_411_697), earliest: UnixTime(1_795_411_607),
            latest: UnixTime(1_795_411_787), distance: 7400, status: .enRoute)
        #expect(estimate.stops == [stop])
        #expect(try MessageCodec.decodeEstimate(MessageCodec.encode(estimate)) == estimate)
    }

    @Test func theLargestEstimateFits() throws {
        let time = UnixTime(1_795_411_697)
        var generator = WireGenerator(seed: 9)
        let estimate = Estimate(
            time: time, basis: .route,
            stops: (0..<Journey.maximumStops).map { index in
                Estimate.Stop(
                    id: String("\(index)\(String(repeating: "x", count: 64))".prefix(64)), eta: time, earliest: time,
                    latest: time, distance: Meters(Double(index) * 1000), status: .approaching)
            },
            // Points of a way are some metres to some kilometres apart.
            route: (0..<Estimate.maximumRoutePoints).map { index in
                Coordinate(
                    latitude: (Double(index) * 0.01 + generator.number(0...0.001)) * 1e6.rounded() / 1e6,
                    longitude: Double(index) * 0.01)!  // below 21 degrees
            })
        let read = try MessageCodec.decodeEstimate(MessageCodec.encode(estimate))
        #expect(read.stops == estimate.stops && read.route.count == Estimate.maximumRoutePoints)
    }

    @Test(arguments: [
        (#""basis":"route","stops":[{"id":"a","status":"UNKNOWN"}]"#, "time is missing"),
        (#""time":1,"stops":[{"id":"a","status":"UNKNOWN"}]"#, "basis is missing"),
        (
            #""time":1,"basis":"guess","stops":[{"id":"a","status":"UNKNOWN"}]"#,
            "basis must be one of route, straight-line; found another string"
        ),
        (#""time":1,"basis":"route","stops":[{"id":"a"}]"#, "stops[0].status is missing"),
        (#""time":1,"basis":"route","stops":[{"status":"ARRIVED"}]"#, "stops[0].id is missing"),
        (
            #""time":1,"basis":"route","stops":[{"id":"a","status":"LOST"}]"#,
            "stops[0].status must be one of EN_ROUTE, APPROACHING, ARRIVED, DELAYED, OFF_ROUTE, UNKNOWN; found another string"
        ),
        (
            #""time":1,"basis":"route","stops":[{"id":"a","status":"UNKNOWN","distance":-1}]"#,
            "stops[0].distance must be a number of 0 or more; found a number out of range"
        ),
        (
            #""time":1,"basis":"route","stops":[{"id":"a","status":"UNKNOWN"}],"route":"_""#,
            "route must be an encoded polyline with six decimals and at most 2000 points; found another string"
        ),
    ])
    func rejectsABadEstimate(members: String, message: String) {
        expectRefused(message) { () throws(TrackingError) in try MessageCodec.decodeEstimate("{\(members)}".payload) }
    }

    @Test func rejectsTooManyPointsOfTheWay() {
        let route = String(repeating: "??", count: Estimate.maximumRoutePoints + 1)
        let text = #"{"time":1,"basis":"route","stops":[{"id":"a","status":"UNKNOWN"}],"route":"\#(route)"}"#
        expectRefused(
            "route must be an encoded polyline with six decimals and at most 2000 points; found another string"
        ) { () throws(TrackingError) in try MessageCodec.decodeEstimate(text.payload) }
    }

    @Test func rejectsALargePayload() {
        let padding = String(repeating: " ", count: Estimate.maximumBytes)
        #expect {
            try MessageCodec.decodeEstimate("{\(padding)}".payload)
        } throws: { ($0 as? TrackingError)?.code == .payloadTooLarge }
    }
}
