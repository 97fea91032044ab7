import Testing

@testable import TrackingCore

@Suite struct ResolutionPropertyTests {
    @Test(arguments: UInt64(1)...4) func finestIsCommutativeAssociativeAndIdempotent(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        for _ in 0..<500 {
            let a = Resolution.random(using: &generator)
            let b = Resolution.random(using: &generator)
            let c = Resolution.random(using: &generator)
            #expect(a.finer(of: b) == b.finer(of: a))
            #expect(a.finer(of: b).finer(of: c) == a.finer(of: b.finer(of: c)))
            #expect(a.finer(of: a) == a)
            // The results of finer and coarser consist of members of the inputs.
            #expect(a.finer(of: a.coarser(of: b)) == a)
        }
    }

    /// The formula of the reference page without optimizations: each request is limited by itself, then all are
    /// reduced.
    private func naive(_ conditions: TrackingConditions) -> Resolution {
        let floor = conditions.constraints?.floor ?? conditions.floor
        let ceiling = conditions.constraints?.ceiling ?? conditions.ceiling
        let asked = conditions.requests.requests.values.map { request in
            let limited = ceiling.map { request.finer(of: $0) } ?? request
            return floor.map { limited.coarser(of: $0) } ?? limited
        }
        guard let constraints = conditions.constraints else {
            return asked.isEmpty ? conditions.default : asked.dropFirst().reduce(asked[0]) { $0.finer(of: $1) }
        }
        let set = constraints.resolutions
        let isWatched = conditions.subscribers > 0
        let near = isWatched ? set.nearWithSubscriber : set.nearWithoutSubscriber
        let far = isWatched ? set.farWithSubscriber : set.farWithoutSubscriber
        let own = (conditions.isNear ? near : far ?? near) ?? conditions.default
        let finest = asked.reduce(own) { $0.finer(of: $1) }
        guard let battery = conditions.batteryPercent, battery < constraints.batteryLevelThreshold else {
            return finest
        }
        return Resolution(
            finest.accuracy,
            every: Int64(Double(finest.desiredInterval.inMilliseconds) * constraints.lowBatteryMultiplier),
            moving: finest.minimumDisplacement)
    }

    private func maybe(_ generator: inout SplitMix64) -> Resolution? {
        Bool.random(using: &generator) ? Resolution.random(using: &generator) : nil
    }

    private func constraints(_ generator: inout SplitMix64) -> ResolutionConstraints? {
        let set = try? ResolutionSet(
            farWithoutSubscriber: self.maybe(&generator), farWithSubscriber: self.maybe(&generator),
            nearWithoutSubscriber: self.maybe(&generator), nearWithSubscriber: self.maybe(&generator))
        return set.flatMap {
            try? ResolutionConstraints(
                resolutions: $0, batteryLevelThreshold: .random(in: 0...100, using: &generator),
                lowBatteryMultiplier: .random(in: 1...9, using: &generator), floor: self.maybe(&generator),
                ceiling: self.maybe(&generator))
        }
    }

    private func change(_ generator: inout SplitMix64) -> ConditionChange {
        let subscriber = SubscriberID(.random(in: 0..<5, using: &generator))
        switch Int.random(in: 0..<13, using: &generator) {
        case 0, 1: return .subscriberCame(subscriber)
        case 2: return .subscriberLeft(subscriber)
        case 3, 4, 5: return .requestMade(subscriber, .random(using: &generator))
        case 6: return .requestDropped(subscriber)
        case 7:
            return .batteryRead(percent: Bool.random(using: &generator) ? .random(in: 0...100, using: &generator) : nil)
        case 8: return .nearChanged(.random(using: &generator))
        case 9: return .constraintsChanged(self.constraints(&generator))
        case 10: return .floorChanged(self.maybe(&generator))
        case 11: return .ceilingChanged(self.maybe(&generator))
        default: return .defaultChanged(.random(using: &generator))
        }
    }

    @Test(arguments: UInt64(1)...8) func theAnswerDependsOnTheSnapshotAlone(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var machine = ResolutionStateMachine()
        var last = machine.current
        for _ in 0..<1_000 {
            let spoken = machine.changed(self.change(&generator))
            // The formula on the snapshot and a new policy give the same result as the policy that has seen every
            // change.
            #expect(machine.current == self.naive(machine.conditions))
            #expect(machine.current == DefaultResolutionPolicy().resolution(for: machine.conditions))
            #expect(spoken == (machine.current == last ? nil : machine.current))
            #expect(machine.own == self.naive(machine.conditions.withoutRequests), "requests play no part in the own")
            last = machine.current
        }
    }
}
