import Foundation
import Testing
import TrackingCore

/// Distances are great-circle on the WGS 84 mean radius, exact across the antimeridian and at the poles.
@Suite struct CoordinateTests {
    private func place(_ latitude: Double, _ longitude: Double) -> Coordinate {
        Coordinate(latitude: latitude, longitude: longitude)!  // in range
    }

    private let degree = 6_371_008.8 * Double.pi / 180

    @Test func aDegreeIsThatOfTheMeanRadius() {
        #expect(abs(self.place(0, 0).distance(to: self.place(0, 1)).value - self.degree) < 1e-6)
        #expect(abs(self.place(10, 7).distance(to: self.place(11, 7)).value - self.degree) < 1e-6)
        #expect(abs(self.place(0, 0).distance(to: self.place(0, 180)).value - 180 * self.degree) < 1e-6)
    }

    @Test func theAntimeridianIsNoWayRoundTheWorld() {
        #expect(abs(self.place(0, 179.9).distance(to: self.place(0, -179.9)).value - 0.2 * self.degree) < 1e-6)
        #expect(self.place(40, 180).distance(to: self.place(40, -180)).value < 1e-6)
    }

    @Test func atAPoleTheLongitudeMeansNothing() {
        #expect(self.place(90, 0).distance(to: self.place(90, 123)).value < 1e-6)
        #expect(abs(self.place(-89, 10).distance(to: self.place(-89, -170)).value - 2 * self.degree) < 1e-6)
    }

    @Test func smallDistancesKeepTheirDigits() {
        let here = self.place(52.6, -8.6)
        for metres in [0.01, 0.1, 1, 10] {
            let there = here.destination(bearing: 33, distance: Meters(metres))
            #expect(abs(here.distance(to: there).value - metres) < 1e-6 + metres * 1e-6)
        }
        #expect(here.distance(to: here).value == 0)
    }

    @Test func thereIsAsFarAsBack() {
        for step in 0..<100 {
            let a = self.place(Double(step * 37 % 180) - 90, Double(step * 91 % 360) - 180)
            let b = self.place(Double(step * 53 % 180) - 90, Double(step * 17 % 360) - 180)
            #expect(abs(a.distance(to: b).value - b.distance(to: a).value) < 1e-6)
        }
    }
}
