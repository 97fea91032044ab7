import Testing

@testable import TrackingCore

@Suite struct JourneyStateMachineTests {
    private static func stop(_ id: String, north: Double, planned: Double? = nil) -> Journey.Stop {
        Journey.Stop(
            id: id, location: EstimateConversation.place(north: north),
            planned: planned.map { Moment.at($0).wall })
    }

    private static func fix(_ seconds: Double, north: Double, accuracy: Double? = nil) -> Location {
        var fix = Location(coordinate: EstimateConversation.place(north: north), time: Moment.at(seconds).wall)
        fix.accuracyHorizontal = accuracy
        return fix
    }

    private static func estimates(_ ids: [String], eta: Double?, band: Double = 10) -> [Estimate.Stop] {
        ids.map { id in
            Estimate.Stop(
                id: id, eta: eta.map { Moment.at($0).wall }, earliest: eta.map { Moment.at($0 - band).wall },
                latest: eta.map { Moment.at($0 + band).wall }, status: .unknown)
        }
    }

    @Test func stopsAtOnePlaceAreReachedTogether() {
        let stops = [Self.stop("a", north: 0), Self.stop("b", north: 10), Self.stop("c", north: 900)]
        var machine = JourneyStateMachine(Journey(stops: stops))
        #expect(machine.moved(Self.fix(1, north: 0)).map(\.id) == ["a", "b"])
        #expect(machine.next?.id == "c" && machine.openStops.map(\.id) == ["c"])
        #expect(machine.arrival(at: "b") == Moment.at(1).wall)
    }

    @Test func anInaccurateFixIsNoArrival() {
        var machine = JourneyStateMachine(Journey(stops: [Self.stop("a", north: 0)]))
        #expect(machine.moved(Self.fix(1, north: 0, accuracy: 151)).isEmpty)
        #expect(machine.moved(Self.fix(2, north: 149, accuracy: 150)).map(\.id) == ["a"])
    }

    @Test func eachEventIsReportedOnce() {
        var machine = JourneyStateMachine(Journey(stops: [Self.stop("a", north: 0, planned: 100)]))
        var stops = Self.estimates(["a"], eta: 500)
        #expect(machine.judge(&stops, at: Moment.at(0).wall).map(\.kind) == [.delayed])
        #expect(stops[0].status == .delayed)
        #expect(machine.judge(&stops, at: Moment.at(1).wall) == [])
        #expect(machine.judge(&stops, at: Moment.at(201).wall).map(\.kind) == [.approaching])
        #expect(stops[0].status == .approaching, "the planned time still shows the delay")
        machine.strayed()
        #expect(machine.judge(&stops, at: Moment.at(202).wall).map(\.kind) == [.offRoute])
        #expect(stops[0].status == .offRoute)
        machine.returned()
        #expect(machine.judge(&stops, at: Moment.at(203).wall) == [])
        machine.strayed()
        #expect(machine.judge(&stops, at: Moment.at(204).wall) == [])
        _ = machine.moved(Self.fix(205, north: 0))
        #expect(machine.judge(&stops, at: Moment.at(205).wall).map(\.kind) == [.arrived])
        #expect(machine.judge(&stops, at: Moment.at(206).wall) == [])
        #expect(stops[0].status == .arrived && !machine.isOffRoute)
    }

    @Test func aDelayNeedsTheWholeBandAfterThePlannedTime() {
        var machine = JourneyStateMachine(Journey(stops: [Self.stop("a", north: 0, planned: 1000)]))
        var stops = Self.estimates(["a"], eta: 1010, band: 10)
        #expect(machine.judge(&stops, at: Moment.at(0).wall) == [])
        #expect(stops[0].status == .enRoute)
        stops = Self.estimates(["a"], eta: 1011, band: 10)
        #expect(machine.judge(&stops, at: Moment.at(0).wall).map(\.kind) == [.delayed])
    }

    @Test func onlyTheNextStopIsApproached() {
        let stops = [Self.stop("a", north: 1000), Self.stop("b", north: 2000)]
        var machine = JourneyStateMachine(Journey(stops: stops))
        var estimates = Self.estimates(["a", "b"], eta: 100)
        let events = machine.judge(&estimates, at: Moment.at(0).wall)
        #expect(events.map(\.stop.id) == ["a"] && estimates.map(\.status) == [.approaching, .enRoute])
    }

    @Test func aChangedStopReportsItsEventsAgain() {
        let first = [Self.stop("a", north: 0), Self.stop("b", north: 500, planned: 1), Self.stop("c", north: 900)]
        var machine = JourneyStateMachine(Journey(stops: first))
        _ = machine.moved(Self.fix(1, north: 0))
        var stops = Self.estimates(["a", "b", "c"], eta: 1000)
        #expect(machine.judge(&stops, at: Moment.at(2).wall).map(\.kind) == [.arrived, .delayed])
        machine.replaced(
            by: Journey(stops: [Self.stop("b", north: 500, planned: 1), Self.stop("a", north: 0, planned: 5)]))
        #expect(machine.next?.id == "b")
        stops = Self.estimates(["b", "a"], eta: 1000)
        #expect(machine.judge(&stops, at: Moment.at(3).wall).map(\.kind) == [.arrived], "the planned time of a changed")
        machine.replaced(by: Journey(stops: [Self.stop("b", north: 500, planned: 2)]))
        stops = Self.estimates(["b"], eta: 1000)
        #expect(machine.judge(&stops, at: Moment.at(4).wall).map(\.kind) == [.delayed])
    }

    @Test func aRestartKeepsArrivalsAndEvents() {
        let stops = [Self.stop("a", north: 0), Self.stop("b", north: 500)]
        var machine = JourneyStateMachine(Journey(stops: stops))
        let retained = [
            Estimate.Stop(id: "a", eta: Moment.at(7).wall, status: .arrived),
            Estimate.Stop(id: "b", eta: Moment.at(90).wall, status: .approaching),
            Estimate.Stop(id: "other", status: .arrived),
        ]
        machine.restored(from: Estimate(time: Moment.at(8).wall, basis: .route, stops: retained))
        #expect(machine.next?.id == "b" && machine.arrival(at: "a") == Moment.at(7).wall)
        var estimates = Self.estimates(["a", "b"], eta: 90)
        #expect(machine.judge(&estimates, at: Moment.at(9).wall) == [])
    }

    @Test func theDetailOfAnEventNamesTheStop() throws {
        let stop = Journey.Stop(
            id: "4711", name: "Depot", location: EstimateConversation.place(north: 0), planned: UnixTime(100))
        let event = JourneyEvent(
            kind: .delayed, stop: stop,
            estimate: Estimate.Stop(
                id: "4711", eta: UnixTime(130), earliest: UnixTime(120), latest: UnixTime(140), status: .delayed))
        #expect(
            event.detail == [
                "stop": .text("4711"), "name": .text("Depot"), "planned": .number(100), "eta": .number(130),
                "earliest": .number(120), "latest": .number(140),
            ])
    }
}
