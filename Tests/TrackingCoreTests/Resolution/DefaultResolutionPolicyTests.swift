import Testing

@testable import TrackingCore

@Suite struct DefaultResolutionPolicyTests {
    private let policy = DefaultResolutionPolicy()
    private let fallback = Resolution(.minimum, every: 60_000, moving: 500)
    private let far = Resolution(.low, every: 30_000, moving: 100)
    private let farWatched = Resolution(.balanced, every: 10_000, moving: 50)
    private let near = Resolution(.high, every: 5_000, moving: 20)
    private let nearWatched = Resolution(.maximum, every: 1_000, moving: 1)

    private func whole() throws -> ResolutionSet {
        try ResolutionSet(
            farWithoutSubscriber: self.far, farWithSubscriber: self.farWatched, nearWithoutSubscriber: self.near,
            nearWithSubscriber: self.nearWatched)
    }

    private func answer(
        _ set: ResolutionSet?, near: Bool = false, subscribers: Int = 0, requests: [Resolution] = [],
        battery: Double? = nil, threshold: Double = 10, multiplier: Double = 3,
        floors: (publisher: Resolution?, constraints: Resolution?) = (nil, nil),
        ceilings: (publisher: Resolution?, constraints: Resolution?) = (nil, nil)
    ) throws -> Resolution {
        var book = RequestBook()
        for (number, request) in requests.enumerated() { book.set(SubscriberID(number), to: request) }
        let constraints = try set.map {
            try ResolutionConstraints(
                resolutions: $0, batteryLevelThreshold: threshold, lowBatteryMultiplier: multiplier,
                floor: floors.constraints, ceiling: ceilings.constraints)
        }
        return self.policy.resolution(
            for: TrackingConditions(
                constraints: constraints, floor: floors.publisher, ceiling: ceilings.publisher, requests: book,
                subscribers: subscribers, isNear: near, batteryPercent: battery, default: self.fallback))
    }

    // MARK: Without constraints

    @Test func withoutConstraintsOrRequestsTheDefaultApplies() throws {
        #expect(try self.answer(nil) == self.fallback)
        #expect(try self.answer(nil, subscribers: 2) == self.fallback)
    }

    @Test func withoutConstraintsTheRequestsAnswerAlone() throws {
        // Each request is coarser than the default in one member. The default is not merged into them.
        let one = Resolution(.minimum, every: 90_000, moving: 900)
        let other = Resolution(.low, every: 120_000, moving: 800)
        #expect(try self.answer(nil, subscribers: 2, requests: [one]) == one)
        #expect(
            try self.answer(nil, subscribers: 2, requests: [one, other]) == Resolution(.low, every: 90_000, moving: 800)
        )
    }

    @Test func withoutConstraintsBatteryAndProximityPlayNoPart() throws {
        #expect(try self.answer(nil, near: true, battery: 0) == self.fallback)
        #expect(try self.answer(nil, near: true, subscribers: 1, requests: [self.near], battery: 0) == self.near)
    }

    // MARK: The trackable's own

    @Test func eachCaseHasItsMember() throws {
        #expect(try self.answer(self.whole()) == self.far)
        #expect(try self.answer(self.whole(), subscribers: 1) == self.farWatched)
        #expect(try self.answer(self.whole(), near: true) == self.near)
        #expect(try self.answer(self.whole(), near: true, subscribers: 1) == self.nearWatched)
    }

    @Test func farFallsBackToNearOfTheSameWatching() throws {
        let set = try ResolutionSet(nearWithoutSubscriber: self.near, nearWithSubscriber: self.nearWatched)
        #expect(try self.answer(set) == self.near)
        #expect(try self.answer(set, subscribers: 1) == self.nearWatched)
    }

    @Test func nearNeverFallsBackToFar() throws {
        let set = try ResolutionSet(farWithoutSubscriber: self.far, farWithSubscriber: self.farWatched)
        #expect(try self.answer(set, near: true) == self.fallback)
        #expect(try self.answer(set, near: true, subscribers: 1) == self.fallback)
    }

    @Test func watchedAndUnwatchedNeverReplaceEachOther() throws {
        let watched = try ResolutionSet(farWithSubscriber: self.farWatched, nearWithSubscriber: self.nearWatched)
        #expect(try self.answer(watched) == self.fallback)
        #expect(try self.answer(watched, near: true) == self.fallback)
        let unwatched = try ResolutionSet(farWithoutSubscriber: self.far, nearWithoutSubscriber: self.near)
        #expect(try self.answer(unwatched, subscribers: 1) == self.fallback)
        #expect(try self.answer(unwatched, near: true, subscribers: 1) == self.fallback)
    }

    @Test func presenceAloneIsWatching() throws {
        #expect(try self.answer(self.whole(), subscribers: 1, requests: []) == self.farWatched)
    }

    @Test func withConstraintsTheFinestOfOwnAndRequestedApplies() throws {
        let asked = Resolution(.high, every: 20_000, moving: 2)
        #expect(
            try self.answer(self.whole(), subscribers: 1, requests: [asked])
                == Resolution(.high, every: 10_000, moving: 2))
    }

    @Test func aCoarseRequestDoesNotCoarsenTheOwn() throws {
        let asked = Resolution(.minimum, every: 600_000, moving: 5_000)
        #expect(try self.answer(self.whole(), subscribers: 1, requests: [asked]) == self.farWatched)
    }

    // MARK: Battery

    @Test func belowTheThresholdTheIntervalIsStretchedAndNothingElse() throws {
        #expect(try self.answer(self.whole(), battery: 9.9) == Resolution(.low, every: 90_000, moving: 100))
    }

    @Test func theThresholdItselfIsNotBelow() throws {
        #expect(try self.answer(self.whole(), battery: 10) == self.far)
        #expect(try self.answer(self.whole(), battery: 0, threshold: 0) == self.far)
    }

    @Test func anUnknownBatteryChangesNothing() throws {
        #expect(try self.answer(self.whole(), battery: nil, threshold: 100) == self.far)
    }

    @Test func requestsAreStretchedToo() throws {
        let asked = Resolution(.high, every: 1_000, moving: 2)
        #expect(
            try self.answer(self.whole(), subscribers: 1, requests: [asked], battery: 5)
                == Resolution(.high, every: 3_000, moving: 2))
    }

    @Test func aDefaultFromConstraintsIsStretched() throws {
        let set = try ResolutionSet(farWithSubscriber: self.farWatched)
        #expect(try self.answer(set, battery: 5) == Resolution(.minimum, every: 180_000, moving: 500))
    }

    @Test func theStretchIsTruncatedToWholeMilliseconds() throws {
        let set = ResolutionSet(all: Resolution(.low, every: 333, moving: 0))
        // 333 × 1.7 = 566.1; 333 × 1.505 = 501.165; 333 × 2.999 = 998.667
        #expect(try self.answer(set, battery: 1, multiplier: 1.7).desiredInterval == .milliseconds(566))
        #expect(try self.answer(set, battery: 1, multiplier: 1.505).desiredInterval == .milliseconds(501))
        #expect(try self.answer(set, battery: 1, multiplier: 2.999).desiredInterval == .milliseconds(998))
    }

    @Test func aStretchBeyondAllMeasureStopsAtTheLongestInterval() throws {
        let answer = try self.answer(self.whole(), battery: 1, multiplier: 1e300)
        #expect(answer.desiredInterval == Resolution.maximumInterval)
    }

    @Test func lowBatteryNeedsConstraintsAndAReading() throws {
        let constraints = try ResolutionConstraints(
            resolutions: ResolutionSet(all: self.far), batteryLevelThreshold: 10, lowBatteryMultiplier: 2)
        #expect(self.policy.isLowBattery(TrackingConditions(constraints: constraints, batteryPercent: 9)))
        #expect(!self.policy.isLowBattery(TrackingConditions(constraints: constraints, batteryPercent: 10)))
        #expect(!self.policy.isLowBattery(TrackingConditions(constraints: constraints)))
        #expect(!self.policy.isLowBattery(TrackingConditions(batteryPercent: 0)))
    }

    // MARK: Floor

    @Test func theFloorLimitsRequestsMemberByMember() throws {
        let floor = Resolution(.balanced, every: 5_000, moving: 10)
        let asked = Resolution(.maximum, every: 100, moving: 50)
        #expect(
            try self.answer(nil, subscribers: 1, requests: [asked], floors: (floor, nil))
                == Resolution(.balanced, every: 5_000, moving: 50))
    }

    @Test func theFloorLeavesOwnAndDefaultAlone() throws {
        let floor = Resolution(.minimum, every: 600_000, moving: 9_000)
        #expect(try self.answer(nil, floors: (floor, nil)) == self.fallback)
        #expect(try self.answer(self.whole(), near: true, subscribers: 1, floors: (floor, nil)) == self.nearWatched)
        #expect(try self.answer(self.whole(), near: true, floors: (nil, floor)) == self.near)
    }

    @Test func theConstraintsOverrideTheFloorEitherWay() throws {
        let strict = Resolution(.low, every: 20_000, moving: 40)
        let lax = Resolution(.maximum, every: 0, moving: 0)
        let asked = Resolution(.maximum, every: 100, moving: 0)
        #expect(
            try self.answer(self.whole(), subscribers: 1, requests: [asked], floors: (strict, lax)) == asked)
        #expect(
            try self.answer(self.whole(), subscribers: 1, requests: [asked], floors: (lax, strict))
                == Resolution(.balanced, every: 10_000, moving: 40))
        #expect(
            try self.answer(self.whole(), subscribers: 1, requests: [asked], floors: (strict, nil))
                == Resolution(.balanced, every: 10_000, moving: 40))
    }

    @Test func theFloorAppliesBeforeTheStretch() throws {
        let floor = Resolution(.maximum, every: 2_000, moving: 0)
        let asked = Resolution(.high, every: 100, moving: 0)
        #expect(
            try self.answer(self.whole(), subscribers: 1, requests: [asked], battery: 1, floors: (floor, nil))
                .desiredInterval == .milliseconds(6_000))
    }

    // MARK: Ceiling

    @Test func theCeilingLimitsRequestsMemberByMember() throws {
        let blinding = Resolution(.minimum, every: 31_536_000_000, moving: 1e308)
        let answer = try self.answer(nil, subscribers: 1, requests: [blinding], ceilings: (.standardCeiling, nil))
        #expect(answer == Resolution(.minimum, every: 600_000, moving: 1_000))
        let mixed = Resolution(.high, every: 31_536_000_000, moving: 2)
        let ceiling = Resolution(.balanced, every: 60_000, moving: 100)
        #expect(
            try self.answer(nil, subscribers: 1, requests: [mixed], ceilings: (ceiling, nil))
                == Resolution(.high, every: 60_000, moving: 2))
        #expect(
            try self.answer(nil, subscribers: 1, requests: [blinding], ceilings: (ceiling, nil)) == ceiling)
    }

    @Test func theCeilingLeavesOwnAndDefaultAlone() throws {
        let ceiling = Resolution(.maximum, every: 1_000, moving: 1)
        #expect(try self.answer(nil, ceilings: (ceiling, nil)) == self.fallback)
        #expect(try self.answer(self.whole(), ceilings: (nil, ceiling)) == self.far)
    }

    @Test func theConstraintsOverrideTheCeiling() throws {
        let strict = Resolution(.balanced, every: 5_000, moving: 10)
        let coarse = Resolution(.minimum, every: 900_000, moving: 9_000)
        let set = ResolutionSet(all: coarse)
        #expect(try self.answer(set, subscribers: 1, requests: [coarse], ceilings: (nil, strict)) == strict)
        #expect(try self.answer(set, subscribers: 1, requests: [coarse], ceilings: (coarse, strict)) == strict)
        #expect(try self.answer(set, subscribers: 1, requests: [coarse], ceilings: (strict, coarse)) == coarse)
    }

    @Test func theFloorWinsOverAContradictingCeiling() throws {
        let floor = Resolution(.low, every: 3_600_000, moving: 0)
        let asked = Resolution(.high, every: 1_000, moving: 5_000)
        #expect(
            try self.answer(
                nil, subscribers: 1, requests: [asked], floors: (floor, nil), ceilings: (.standardCeiling, nil))
                == Resolution(.low, every: 3_600_000, moving: 1_000))
    }
}
