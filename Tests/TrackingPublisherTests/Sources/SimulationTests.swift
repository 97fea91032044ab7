import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct SimulationTests {
    @Test func theRouteIsAClosedWayOfAPlausibleSize() {
        let route = DriveRoute.limerickCourier
        #expect(route.points.count > 30 && (4000...15_000).contains(route.length))
        for (index, point) in route.points.enumerated() {
            #expect((30...400).contains(route.distances[index + 1] - route.distances[index]), "leg \(index)")
            #expect(point.limit > 5)
        }
        #expect(route.points.contains { $0.halt == .lights })
    }

    @Test(arguments: [UInt64(1), 2, 3]) func theVehicleDrivesAsVehiclesDo(seed: UInt64) {
        var vehicle = DriveModel(route: .limerickCourier, seed: seed)
        var last = (vehicle.coordinate, vehicle.speed)
        var driven = 0.0
        var stops = 0
        for _ in 0..<(40 * 60 * 5) {
            vehicle.advance(by: 0.2)
            let moved = last.0.distance(to: vehicle.coordinate).value
            #expect(vehicle.speed <= 60 / 3.6 + 0.01)
            #expect(abs(moved - vehicle.speed * 0.2) < 0.3)
            #expect(vehicle.speed - last.1 <= DriveModel.acceleration * 0.2 + 1e-9)
            #expect(last.1 - vehicle.speed <= 1.3 * DriveModel.braking * 0.2 + 1.1)
            if vehicle.speed == 0, last.1 > 0 { stops += 1 }
            driven += moved
            last = (vehicle.coordinate, vehicle.speed)
        }
        // Two laps or more in forty minutes, at the speed of a town.
        #expect(driven > 2 * DriveRoute.limerickCourier.length && driven / 2400 < 12)
        #expect(stops >= 8)
    }

    @Test func theSameSeedDrivesTheSame() {
        var one = DriveModel(route: .limerickCourier, seed: 5)
        var other = DriveModel(route: .limerickCourier, seed: 5)
        for _ in 0..<600 { one.advance(by: 1) }
        for _ in 0..<6000 { other.advance(by: 0.1) }
        #expect(one.coordinate.distance(to: other.coordinate).value < 10)
    }

    @Test func vehiclesWithOtherSeedsAreElsewhere() {
        #expect(DriveModel.start(seed: 1) == 0)
        let names = ["van-7", "van-8", "courier-1", "bus", "a"]
        let seeds = [UInt64](1...8) + names.map { SimulatedSource.seed(for: $0) }
        #expect(Set(seeds).count == seeds.count)
        var vehicles = seeds.map { DriveModel(route: .limerickCourier, seed: $0, start: DriveModel.start(seed: $0)) }
        var together = 0
        for _ in 0..<600 {
            for index in vehicles.indices { vehicles[index].advance(by: 1) }
            let places = vehicles.filter { $0.speed > 1 }.map(\.coordinate)
            for (index, place) in places.enumerated() {
                together += places[..<index].count { $0.distance(to: place).value < 1 }
            }
        }
        // Vehicles meet at a light, but they do not drive along together: with one seed for all it is over 10,000.
        #expect(together < 200)
    }

    @Test(arguments: Resolution.Accuracy.allCases) func theReceiverErrsAsMuchAsItSays(accuracy: Resolution.Accuracy) {
        let vehicle = DriveModel(route: .limerickCourier, seed: 1)
        var within = 0
        let count = 4000
        var receiver = ReceiverModel(seed: 11)
        for index in 0..<count {
            let fix = receiver.fix(of: vehicle, at: UnixTime(Double(index) * 100), accuracy: accuracy, speedFactor: 1)
            let error = fix.coordinate.distance(to: vehicle.coordinate).value
            if error <= fix.accuracyHorizontal ?? 0 { within += 1 }
            #expect(fix.speed == 0 && fix.bearing == nil && fix.source == .simulated)
        }
        #expect((0.65...0.71).contains(Double(within) / Double(count)))
    }

    @Test func errorsWanderInsteadOfJumping() {
        let vehicle = DriveModel(route: .limerickCourier, seed: 1)
        var receiver = ReceiverModel(seed: 3)
        var last = receiver.fix(of: vehicle, at: UnixTime(0), accuracy: .high, speedFactor: 1).coordinate
        for index in 1..<600 {
            let next = receiver.fix(of: vehicle, at: UnixTime(Double(index)), accuracy: .high, speedFactor: 1)
                .coordinate
            #expect(next.distance(to: last).value < 6)
            last = next
        }
    }
}
