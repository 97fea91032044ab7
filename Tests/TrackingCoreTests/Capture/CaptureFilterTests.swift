import Testing

@testable import TrackingCore

@Suite struct CaptureFilterTests {
    private func verdicts(_ filter: CaptureFilter, _ fixes: [Location]) -> [CaptureFilter.Verdict] {
        var filter = filter
        return fixes.map { filter.consider($0) }
    }

    @Test func withoutAFilterEverythingIsRecordedTwoFixesOfOneTimeIncluded() throws {
        let fixes: [Location] = [.fix(at: 0), .fix(at: 0), .fix(at: 0.5), .fix(at: 0.5)]
        #expect(self.verdicts(try CaptureFilter(), fixes) == [.first, .recorded, .recorded, .recorded])
    }

    @Test func theReferenceMovesWithEachRecordedPoint() throws {
        let filter = try CaptureFilter(minimumDistance: 10)
        let fixes: [Location] = [0, 6, 12, 18, 23].enumerated().map { .fix(north: Double($1), at: Double($0)) }
        #expect(self.verdicts(filter, fixes) == [.first, .tooClose, .recorded, .tooClose, .recorded])
    }

    @Test(arguments: [(4.4, CaptureFilter.Verdict.tooSoon), (4.9, .recorded), (5, .recorded)])
    func timeHasATenthOfASecondOfTolerance(seconds: Double, expected: CaptureFilter.Verdict) throws {
        let filter = try CaptureFilter(minimumTime: .seconds(5))
        #expect(self.verdicts(filter, [.fix(at: 0), .fix(at: seconds)]) == [.first, expected])
    }

    @Test func bothMinimumsMustBeReachedAndTimeIsNamedFirst() throws {
        let filter = try CaptureFilter(minimumDistance: 10, minimumTime: .seconds(5))
        let fixes: [Location] = [
            .fix(at: 0), .fix(north: 50, at: 1), .fix(north: 1, at: 9), .fix(north: 1, at: 2), .fix(north: 12, at: 7),
        ]
        #expect(self.verdicts(filter, fixes) == [.first, .tooSoon, .tooClose, .tooSoon, .recorded])
    }

    @Test(arguments: [(nil as Double?, true), (29, true), (30, true), (30.1, false)])
    func aRadiusAboveTheLargestIsDroppedAlsoOfTheFirst(radius: Double?, isRecorded: Bool) throws {
        var filter = try CaptureFilter(maximumAccuracyRadius: 30)
        let verdict = filter.consider(.fix(at: 0, accuracy: radius))
        #expect(verdict == (isRecorded ? .first : .tooInaccurate))
        #expect(filter.consider(.fix(at: 1, accuracy: 5)) == (isRecorded ? .recorded : .first))
    }

    @Test func aClockThatIsSetBackLosesNoFix() throws {
        let filter = try CaptureFilter(minimumDistance: 100, minimumTime: .seconds(60))
        let fixes: [Location] = [.fix(at: 7200), .fix(at: 3600), .fix(at: 3610), .fix(north: 200, at: 3700)]
        #expect(self.verdicts(filter, fixes) == [.first, .wentBack, .tooSoon, .recorded])
    }

    @Test func afterAStepOfTheClockTheNextFixIsAFirst() throws {
        var filter = try CaptureFilter(minimumTime: .seconds(60))
        #expect(filter.consider(.fix(at: 0)) == .first)
        filter.clockStepped()
        #expect(filter.consider(.fix(at: 1)) == .first)
    }

    @Test func aLongWayIsRecordedOutOfTurn() throws {
        let filter = try CaptureFilter(minimumTime: .seconds(60), significantChange: .also(200))
        let fixes: [Location] = [
            .fix(at: 0), .fix(north: 199, at: 10), .fix(north: 201, at: 11), .fix(north: 250, at: 12),
        ]
        #expect(self.verdicts(filter, fixes) == [.first, .tooSoon, .significant, .tooSoon])
    }

    @Test func aModeMayRecordOnlyLongDistances() throws {
        let filter = try CaptureFilter(significantChange: .only)
        let fixes: [Location] = [.fix(at: 0), .fix(north: 499, at: 900), .fix(north: 501, at: 901)]
        #expect(self.verdicts(filter, fixes) == [.first, .insignificant, .significant])
    }

    @Test func aFixThatMeetsARequestIsRecordedUnlessItIsTooInaccurate() throws {
        var filter = try CaptureFilter(
            minimumDistance: 100, minimumTime: .seconds(60), maximumAccuracyRadius: 30, significantChange: .only)
        filter.requested = CaptureFilter.Requested(
            try Resolution(accuracy: .high, desiredInterval: .seconds(1), minimumDisplacement: 1), rule: .both)
        let fixes: [Location] = [
            .fix(at: 0), .fix(north: 2, at: 0.5), .fix(north: 0.5, at: 1), .fix(north: 2, at: 1.95),
            .fix(north: 9, at: 3, accuracy: 31),
        ]
        #expect(self.verdicts(filter, fixes) == [.first, .insignificant, .insignificant, .requested, .tooInaccurate])
        filter.requested?.rule = .either
        #expect(self.verdicts(filter, fixes) == [.first, .requested, .requested, .requested, .tooInaccurate])
        filter.requested = nil
        #expect(
            self.verdicts(filter, fixes) == [.first, .insignificant, .insignificant, .insignificant, .tooInaccurate])
    }

    @Test(arguments: [
        (FilterRule.both, [CaptureFilter.Verdict.first, .tooFine, .tooFine, .recorded]),
        (.either, [.first, .tooFine, .recorded, .recorded]),
    ])
    func theResolutionIsAppliedToAFasterReceiver(rule: FilterRule, expected: [CaptureFilter.Verdict]) throws {
        let filter = try CaptureFilter(resolution: TrackingMode.balanced.resolution, rule: rule)
        let fixes: [Location] = [
            .fix(at: 0), .fix(north: 5, at: 5), .fix(north: 20, at: 16), .fix(north: 60, at: 40),
        ]
        #expect(self.verdicts(filter, fixes) == expected)
    }

    @Test func figuresOutOfRangeAreRefused() {
        #expect(throws: TrackingError.self) { try CaptureFilter(minimumDistance: -1) }
        #expect(throws: TrackingError.self) { try CaptureFilter(minimumDistance: Meters(.nan)) }
        #expect(throws: TrackingError.self) { try CaptureFilter(minimumTime: .seconds(-1)) }
        #expect(throws: TrackingError.self) { try CaptureFilter(maximumAccuracyRadius: 0) }
        #expect(throws: TrackingError.self) { try CaptureFilter(significantChange: .also(0)) }
    }

    /// For any sequence of fixes, a dropped fix changes nothing. Two consecutive recorded fixes are as far apart as
    /// the filter demands, unless the verdict gives another reason.
    @Test(arguments: UInt64(1)...8) func neighboursAmongTheRecordedAreFarEnoughApart(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let distance = Double.random(in: 0...50, using: &generator)
        let time = Double.random(in: 0...20, using: &generator)
        let radius = Double.random(in: 5...60, using: &generator)
        var filter = try CaptureFilter(
            minimumDistance: Meters(distance), minimumTime: .seconds(time), maximumAccuracyRadius: Meters(radius))
        var last: Location?
        var north = 0.0
        var seconds = 0.0
        for _ in 0..<500 {
            north += Double.random(in: -20...25, using: &generator)
            seconds += Double.random(in: -1...8, using: &generator)
            let fix = Location.fix(
                north: north, at: seconds, accuracy: Double.random(in: 1...80, using: &generator))
            let before = filter
            let verdict = filter.consider(fix)
            guard verdict.isRecorded else {
                #expect(filter == before)
                continue
            }
            #expect((fix.accuracyHorizontal ?? 0) <= radius)
            if let last, verdict == .recorded {
                #expect(fix.coordinate.distance(to: last.coordinate).value >= distance)
                #expect(fix.time.since(last.time).inSeconds >= time - 0.100_001)
            } else if let last {
                #expect(verdict == .wentBack && fix.time < last.time)
            }
            last = fix
        }
        #expect(last != nil)
    }
}

@Suite struct TrackingModeTests {
    @Test(arguments: [
        (TrackingMode.active, "HIGH/1000/0" as String?), (.balanced, "BALANCED/15000/25"), (.passive, "LOW/120000/200"),
        (.custom, nil as String?),
    ])
    func theFiguresOfTheModes(mode: TrackingMode, expected: String?) {
        let text = mode.resolution.map {
            "\($0.accuracy.rawValue)/\($0.desiredInterval.inMilliseconds)/\(Int($0.minimumDisplacement.value))"
        }
        #expect(text == expected)
    }

    @Test func theAccuraciesOfPhonesAreOurClasses() {
        #expect(DesiredAccuracy.allCases.map(\.accuracy) == [.maximum, .high, .balanced, .low, .minimum])
        #expect(DesiredAccuracy.allCases.map(\.rawValue) == ["best", "10", "100", "1000", "3000"])
    }
}

@Suite struct LowBatteryDetectorTests {
    @Test func aCrossingIsReportedOnceAndAgainOnlyAfterCharging() throws {
        var detector = try LowBatteryDetector(threshold: 10)
        let results = [50, 10, 9.9, 8, 10.1, 9.9, 12.9, 9, 13, 9.5, nil, 200, 9].map { detector.read($0) }
        let expected = [2, 9]
        #expect(results.indices.filter { results[$0] } == expected)
    }

    @Test func aDeviceThatStartsLowIsReportedAndZeroIsNever() throws {
        var low = try LowBatteryDetector(threshold: 10)
        let isReportedLow = low.read(3)
        #expect(isReportedLow)
        var never = try LowBatteryDetector(threshold: 0)
        let isReportedEmpty = never.read(0)
        #expect(!isReportedEmpty)
        var full = try LowBatteryDetector(threshold: 100)
        #expect([99, 100, 99].map { full.read($0) } == [true, false, true])
        #expect(throws: TrackingError.self) { try LowBatteryDetector(threshold: 101) }
    }
}
