import Testing
import TrackingCore
import TrackingHistory

@Suite struct SelectionTests {
    private let now = UnixTime(1_777_887_000)

    @Test(arguments: [
        ("now", 0.0), ("10m", -600), ("2h", -7200), ("3d", -259_200), ("45s", -45), ("1w", -604_800), ("1h30m", -5400),
        ("2026-05-04T09:30:00Z", 0), ("2026-05-04T11:30:00+02:00", 0), ("2026-05-04t09:30:00.5z", 0.5),
        ("2026-05-04T04:00:00-05:30", 0), ("1969-12-31T23:59:59Z", -1_777_887_001),
    ])
    func momentsAreRead(text: String, offset: Double) throws {
        #expect(try HistoryTime.moment(text, now: self.now).seconds == self.now.seconds + offset)
    }

    @Test(arguments: [
        "", "yesterday", "10", "-10m", "10 m", "m", "1.5h", "10y", "0s", "99999999999999999999d", "2026-05-04",
        "2026-05-04T09:30:00", "2026-13-04T09:30:00Z", "12:00", "99999999999w", "٣d",
    ])
    func anInvalidMomentIsReported(text: String) {
        let error = #expect(throws: TrackingError.self) { try HistoryTime.moment(text, now: self.now) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func theErrorNamesTheValidForms() {
        func message(_ text: String) -> String? {
            (#expect(throws: TrackingError.self) { try HistoryTime.moment(text, now: self.now) })?.message
        }
        #expect(
            message("soon")
                == "the time must be RFC 3339 (2026-05-04T09:30:00Z), now, or a whole number with s, m, h, d or w "
                + "(10m, 2h, 1h30m, 3d), not 'soon'")
        #expect(
            message("2026-05-04T09:30:00")
                == "the time '2026-05-04T09:30:00' has no time zone: end it with Z for UTC, or with an offset such as +02:00"
        )
        #expect(message("0s") == "the span of time must be above 0, not '0s'")
        #expect(throws: TrackingError.self) { try HistoryTime.span("now") }
    }

    @Test func aBoxContainsItsPoints() throws {
        let box = try BoundingBox(parsing: "-8.7, 52.6, -8.5, 52.7")
        #expect(!box.crossesAntimeridian)
        #expect(box.contains(Points.at(0, 52.65, -8.6).coordinate) && box.contains(Points.at(0, 52.6, -8.7).coordinate))
        #expect(
            !box.contains(Points.at(0, 52.5, -8.6).coordinate) && !box.contains(Points.at(0, 52.65, 8.6).coordinate))
    }

    @Test func aBoxMayCrossTheAntimeridian() throws {
        let box = try BoundingBox(parsing: "170,-20,-170,20")
        #expect(box.crossesAntimeridian)
        for longitude in [170.0, 175, 180, -180, -175, -170] {
            #expect(box.contains(Points.at(0, 0, longitude).coordinate))
        }
        #expect(!box.contains(Points.at(0, 0, 0).coordinate) && !box.contains(Points.at(0, 30, 175).coordinate))
        #expect(try BoundingBox(parsing: "170,0,180,1").contains(Points.at(0, 0, -180).coordinate))
        #expect(try BoundingBox(parsing: "0,80,1,90").contains(Points.at(0, 90, 77).coordinate))
    }

    @Test(arguments: ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "1,,2,3", "-181,0,0,0", "0,-91,0,0", "0,2,1,1", "nan,0,0,0"])
    func anInvalidBoxIsReported(text: String) {
        #expect(throws: TrackingError.self) { try BoundingBox(parsing: text) }
    }

    @Test func surroundingsAreRoundAndHaveABox() throws {
        let near = try Surroundings(near: "52.63,-8.66", within: "500")
        #expect(near.contains(near.center) && near.radius == 500)
        #expect(near.contains(near.center.destination(bearing: 33, distance: 499.9)))
        #expect(!near.contains(near.center.destination(bearing: 33, distance: 500.1)))
    }

    @Test(arguments: 1...500) func theBoxOfSurroundingsHoldsThem(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        let latitudes: [Double] = [90, -90, 89.9999, .random(in: -90...90, using: &dice)]
        let longitudes: [Double] = [180, -179.99, .random(in: -180...180, using: &dice)]
        let radii: [Double] = [1, 1000, 1e6, 1e7, 2e7]
        let latitude = latitudes[Int.random(in: 0..<4, using: &dice)]
        let longitude = longitudes[Int.random(in: 0..<3, using: &dice)]
        let radius = radii[Int.random(in: 0..<5, using: &dice)]
        let near = try Surroundings(center: Points.at(0, latitude, longitude).coordinate, radius: Meters(radius))
        for _ in 0..<50 {
            let place = near.center.destination(
                bearing: .random(in: 0..<360, using: &dice),
                distance: Meters(radius * .random(in: 0...0.999999, using: &dice)))
            #expect(near.boundingBox.contains(place), "seed \(seed): \(near) and \(place)")
        }
    }

    @Test(arguments: [
        ("52", "1"), ("52,8,1", "1"), ("91,0", "1"), ("52,8", "0"), ("52,8", "-1"), ("52,8", "nan"), ("52,8", "far"),
    ])
    func invalidSurroundingsAreReported(near: String, within: String) {
        #expect(throws: TrackingError.self) { try Surroundings(near: near, within: within) }
    }
}
