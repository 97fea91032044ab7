import Testing

@testable import TrackingCore

@Suite struct ResolutionStateMachineTests {
    private let idle = Resolution(.low, every: 30_000, moving: 100)
    private let watched = Resolution(.balanced, every: 10_000, moving: 50)
    private let close = Resolution(.maximum, every: 1_000, moving: 1)
    private let asked = Resolution(.high, every: 2_000, moving: 5)

    private func constraints(floor: Resolution? = nil) throws -> ResolutionConstraints {
        try ResolutionConstraints(
            resolutions: ResolutionSet(
                farWithoutSubscriber: self.idle, farWithSubscriber: self.watched, nearWithoutSubscriber: self.close,
                nearWithSubscriber: self.close),
            batteryLevelThreshold: 20, lowBatteryMultiplier: 2, floor: floor)
    }

    private func machine() throws -> ResolutionStateMachine {
        try ResolutionStateMachine(constraints: self.constraints())
    }

    @Test func theFirstAnswerIsThereFromTheStart() throws {
        #expect(try self.machine().current == self.idle)
        #expect(ResolutionStateMachine(default: self.asked).current == self.asked)
    }

    @Test func aWatcherComesAsksDropsAndLeaves() throws {
        var machine = try self.machine()
        #expect(machine.changed(.subscriberCame(SubscriberID(1))) == self.watched)
        #expect(machine.changed(.requestMade(SubscriberID(1), self.asked)) == self.asked)
        #expect(machine.changed(.requestDropped(SubscriberID(1))) == self.watched)
        #expect(machine.conditions.subscribers == 1)  // dropping a request leaves the subscriber present
        #expect(machine.changed(.subscriberLeft(SubscriberID(1))) == self.idle)
    }

    @Test func aChangeIsReportedOnlyWhenTheResolutionDiffers() throws {
        var machine = try self.machine()
        #expect(machine.changed(.subscriberCame(SubscriberID(1))) == self.watched)
        #expect(machine.changed(.subscriberCame(SubscriberID(2))) == nil)
        #expect(machine.changed(.requestMade(SubscriberID(1), self.asked)) == self.asked)
        #expect(machine.changed(.requestMade(SubscriberID(2), self.asked)) == nil)
        #expect(machine.changed(.requestDropped(SubscriberID(1))) == nil)
        #expect(machine.changed(.batteryRead(percent: 80)) == nil)
        #expect(machine.changed(.batteryRead(percent: 21)) == nil)
        #expect(machine.changed(.defaultChanged(self.close)) == nil)
        #expect(machine.conditions.subscribers == 2)  // unreported changes count as well
        #expect(machine.conditions.batteryPercent == 21)
    }

    @Test func aRequestLeavesWithItsSubscriber() throws {
        var machine = try self.machine()
        _ = machine.changed(.subscriberCame(SubscriberID(1)))
        _ = machine.changed(.subscriberCame(SubscriberID(2)))
        #expect(machine.changed(.requestMade(SubscriberID(2), self.asked)) == self.asked)
        #expect(machine.changed(.subscriberLeft(SubscriberID(2))) == self.watched)
        #expect(machine.changed(.subscriberCame(SubscriberID(2))) == nil)  // it is back without a request
    }

    @Test func aRequestFromSomeoneNotPresentIsIgnored() throws {
        var machine = try self.machine()
        #expect(machine.changed(.requestMade(SubscriberID(1), self.close)) == nil)
        #expect(machine.conditions.requests.isEmpty)
        #expect(machine.changed(.subscriberCame(SubscriberID(1))) == self.watched)
        #expect(machine.changed(.requestMade(SubscriberID(1), self.close)) == self.close)
    }

    @Test func twoConnectionsAreTwoSubscribers() throws {
        var machine = try self.machine()
        _ = machine.changed(.subscriberCame(SubscriberID(1, session: "a")))
        _ = machine.changed(.subscriberCame(SubscriberID(1, session: "b")))
        #expect(machine.changed(.requestMade(SubscriberID(1, session: "a"), self.asked)) == self.asked)
        #expect(machine.changed(.requestDropped(SubscriberID(1, session: "b"))) == nil)
        #expect(machine.changed(.subscriberLeft(SubscriberID(1, session: "b"))) == nil)
        #expect(machine.current == self.asked)
        #expect(machine.subscribers == [SubscriberID(1, session: "a")])
    }

    @Test func aSubscriberThatCameTwiceLeavesOnce() throws {
        var machine = try self.machine()
        #expect(machine.changed(.subscriberCame(SubscriberID(1))) == self.watched)
        #expect(machine.changed(.subscriberCame(SubscriberID(1))) == nil)
        #expect(machine.changed(.subscriberLeft(SubscriberID(1))) == self.idle)
        #expect(machine.changed(.subscriberLeft(SubscriberID(1))) == nil)
        #expect(machine.conditions.subscribers == 0)
    }

    @Test func theBatteryCrossesTheThresholdBothWays() throws {
        var machine = try self.machine()
        #expect(machine.changed(.batteryRead(percent: 20)) == nil)
        #expect(!machine.isLowBattery)
        #expect(machine.changed(.batteryRead(percent: 19.9)) == Resolution(.low, every: 60_000, moving: 100))
        #expect(machine.isLowBattery)
        #expect(machine.changed(.batteryRead(percent: 5)) == nil)
        #expect(machine.changed(.batteryRead(percent: nil)) == self.idle)
    }

    @Test(arguments: [-1, 100.5, .nan]) func anImpossibleReadingIsUnknown(percent: Double) throws {
        var machine = try self.machine()
        #expect(machine.changed(.batteryRead(percent: percent)) == nil)
        #expect(machine.conditions.batteryPercent == nil)
    }

    @Test func nearAndFar() throws {
        var machine = try self.machine()
        #expect(machine.changed(.nearChanged(true)) == self.close)
        #expect(machine.changed(.nearChanged(true)) == nil)
        #expect(machine.changed(.nearChanged(false)) == self.idle)
    }

    @Test func constraintsFloorAndDefaultAreDecidedAgain() throws {
        var machine = ResolutionStateMachine(default: self.idle)
        #expect(machine.changed(.defaultChanged(self.watched)) == self.watched)
        _ = machine.changed(.subscriberCame(SubscriberID(1)))
        #expect(machine.changed(.requestMade(SubscriberID(1), self.close)) == self.close)
        #expect(machine.changed(.floorChanged(self.idle)) == self.idle)
        #expect(machine.changed(.constraintsChanged(try self.constraints(floor: self.asked))) == self.asked)
        #expect(machine.changed(.constraintsChanged(nil)) == self.idle)
        #expect(machine.changed(.floorChanged(nil)) == self.close)
    }

    @Test func aUsersOwnPolicySeesTheSameSnapshot() {
        struct ByHeads: ResolutionPolicy {
            func resolution(for conditions: TrackingConditions) -> Resolution {
                Resolution(.low, every: Int64(1_000 * (1 + conditions.subscribers)), moving: 0)
            }
        }
        var machine = ResolutionStateMachine(policy: ByHeads())
        #expect(machine.current.desiredInterval == .seconds(1))
        #expect(machine.changed(.subscriberCame(SubscriberID(1)))?.desiredInterval == .seconds(2))
    }

    @Test func theSensorRunsAtTheFinestOfAllTrackables() {
        let fine = Resolution(.maximum, every: 9_000, moving: 90)
        let quick = Resolution(.low, every: 1_000, moving: 20)
        #expect(
            SensorResolution.finest(of: [fine, quick], default: self.idle)
                == Resolution(.maximum, every: 1_000, moving: 20))
        #expect(SensorResolution.finest(of: [quick], default: fine) == quick)
        #expect(SensorResolution.finest(of: [], default: self.idle) == self.idle)
        #expect(SensorResolution.finest(of: [fine], default: self.idle, constant: quick) == quick)
        #expect(SensorResolution.finest(of: [], default: self.idle, constant: quick) == quick)
    }
}
