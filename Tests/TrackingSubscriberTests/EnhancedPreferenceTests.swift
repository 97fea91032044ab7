import Testing
import TrackingCore

@testable import TrackingSubscriber

/// The choice between published and enhanced updates, with an enhancer that is quick, slow, away or back.
@Suite struct EnhancedPreferenceTests {
    private func location(_ seq: UInt64, of stream: String? = "one") throws -> Location {
        var location = Location(
            coordinate: try #require(Coordinate(latitude: 0, longitude: 1)), time: UnixTime(Double(seq)))
        if let stream { (location.seq, location.stream) = (seq, StreamID(stream)) }
        return location
    }

    private func published(_ seq: UInt64, of stream: String? = "one", isLate: Bool = false) throws -> ReceivedUpdate {
        ReceivedUpdate(
            update: LocationUpdate(location: try self.location(seq, of: stream)), skipped: [], isLate: isLate,
            isRetained: false)
    }

    private func enhanced(_ seq: UInt64, of stream: String? = "one") throws -> LocationUpdate {
        let location = try self.location(seq, of: stream)
        return LocationUpdate(
            location: location, intermediate: [location], enhancement: Enhancement(confidence: .matched))
    }

    /// An enhancer publishes no predicted position, so the program does not wait for one.
    @Test func aPredictedPositionIsDeliveredAtOnceAndNeverAsASkippedPoint() throws {
        var preference = EnhancedPreference()
        let now = MonotonicTime(.zero)
        _ = preference.published(try self.published(1), now: now)
        #expect(preference.enhanced(try self.enhanced(1), isRetained: false, now: now) != nil)
        var predicted = try self.published(4, of: nil)
        predicted.update.kind = .predicted
        #expect(preference.published(predicted, now: now) == predicted)
        #expect(preference.published(try self.published(5), now: now) == nil)
        let delivered = preference.enhanced(try self.enhanced(5), isRetained: false, now: now)
        #expect(delivered?.update.location.seq == 5 && delivered?.skipped == [])
    }

    /// Each fix is delivered once as a position or as a skipped point, apart from a published position that its enhanced
    /// one replaces. No position is older than the one before.
    @Test(arguments: 0..<200) func noPositionGoesBackAndNoPointIsLost(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var preference = EnhancedPreference()
        var (positions, points): ([UInt64], [UInt64]) = ([], [])
        var now = MonotonicTime(.zero)
        func note(_ update: ReceivedUpdate?) throws {
            guard let update else { return }
            points += update.skipped.compactMap(\.seq)
            let seq = try #require(update.update.location.seq)
            if let last = positions.last, last == seq {
                #expect(update.update.enhancement != nil && update.update.intermediate.isEmpty)
                return
            }
            #expect(seq > positions.last ?? 0)
            positions.append(seq)
        }
        var pending: [(seq: UInt64, due: MonotonicTime)] = []
        let lag = Int.random(in: 0...12_000, using: &random)
        for seq in UInt64(1)...60 {
            try note(preference.published(self.published(seq), now: now))
            // The enhancer is away for 10 of 30 updates, and loses every ninth one.
            if seq % 30 > 10, seq % 9 != 0 { pending.append((seq, now.advanced(by: .milliseconds(lag)))) }
            let next = now.advanced(by: .milliseconds(Int.random(in: 100...3_000, using: &random)))
            while let due = MonotonicTime.earlier(
                pending.first?.due, preference.deadline(interval: .seconds(1))), due <= next
            {
                now = max(now, due)
                try note(preference.timerFired(interval: .seconds(1), now: now))
                while let first = pending.first, first.due <= now {
                    pending.removeFirst()
                    try note(preference.enhanced(self.enhanced(first.seq), isRetained: false, now: now))
                }
            }
            now = next
        }
        try note(preference.deliverWithheld())
        #expect((positions + points).sorted() == Array(1...60))
    }

    @Test func theWaitFollowsTheIntervalWithinItsLimits() throws {
        func wait(_ interval: Duration?, after pause: Duration) throws -> Duration? {
            var preference = EnhancedPreference()
            _ = preference.published(try self.published(1), now: .seconds(0))
            _ = preference.enhanced(try self.enhanced(1), isRetained: false, now: .seconds(0))
            let arrival = MonotonicTime(pause)
            _ = preference.published(try self.published(2), now: arrival)
            return preference.deadline(interval: interval).map { arrival.duration(to: $0) }
        }
        #expect(try wait(.milliseconds(500), after: .milliseconds(500)) == .milliseconds(1_500))
        #expect(try wait(nil, after: .seconds(1)) == .seconds(1))
        #expect(try wait(.seconds(3), after: .seconds(3)) == .seconds(3))
        #expect(try wait(.seconds(60), after: .seconds(60)) == .seconds(10))
        #expect(try wait(.seconds(1), after: .seconds(600)) == .seconds(1))
    }

    @Test func aPositionWithoutANumberIsRecognisedByItsTime() throws {
        var preference = EnhancedPreference()
        #expect(preference.published(try self.published(1, of: nil), now: .seconds(0)) != nil)
        #expect(preference.enhanced(try self.enhanced(1, of: nil), isRetained: false, now: .seconds(0)) != nil)
        #expect(preference.published(try self.published(2, of: nil), now: .seconds(1)) == nil)
        #expect(preference.enhanced(try self.enhanced(1, of: nil), isRetained: false, now: .seconds(1)) == nil)
        #expect(preference.enhanced(try self.enhanced(2, of: nil), isRetained: false, now: .seconds(1)) != nil)
    }

    @Test func theWithheldUpdatesAreBounded() throws {
        var preference = EnhancedPreference()
        _ = preference.published(try self.published(1), now: .seconds(0))
        _ = preference.enhanced(try self.enhanced(1), isRetained: false, now: .seconds(0))
        let limit = UInt64(EnhancedPreference.maximumWithheld)
        for seq in 2...(limit + 1) { #expect(preference.published(try self.published(seq), now: .seconds(0)) == nil) }
        let update = try #require(preference.published(try self.published(limit + 2), now: .seconds(0)))
        #expect(update.update.location.seq == limit + 2)
        #expect(update.skipped.compactMap(\.seq) == Array(2...(limit + 1)))
    }

    @Test func anEnhancedPositionHasTheAdditionalMembersOfItsFix() throws {
        var preference = EnhancedPreference()
        func extra(_ seq: UInt64) -> [UInt8] { Array(#"{"n":\#(seq)}"#.utf8) }
        for seq in UInt64(1)...3 {
            var update = try self.published(seq)
            update.update.location.extra = extra(seq)
            _ = preference.published(update, now: .seconds(0))
            guard seq != 2 else { continue }
            for enhanced in (seq == 3 ? [2, 3] : [1]) as [UInt64] {
                let received = preference.enhanced(try self.enhanced(enhanced), isRetained: false, now: .seconds(0))
                #expect(received?.update.location.extra == extra(enhanced))
            }
        }
    }

    @Test func aLatePositionIsNotWithheld() throws {
        var preference = EnhancedPreference()
        _ = preference.published(try self.published(5), now: .seconds(0))
        _ = preference.enhanced(try self.enhanced(5), isRetained: false, now: .seconds(0))
        #expect(preference.published(try self.published(4, isLate: true), now: .seconds(0))?.isLate == true)
        #expect(preference.enhanced(try self.enhanced(4), isRetained: false, now: .seconds(0)) == nil)
    }

    /// A broker can drop a published update and deliver its enhanced one.
    @Test func anEnhancedPositionBeforeItsPublishedOneCounts() throws {
        var preference = EnhancedPreference()
        #expect(preference.enhanced(try self.enhanced(1), isRetained: false, now: .seconds(0)) == nil)
        _ = preference.published(try self.published(1), now: .seconds(0))
        let update = try #require(preference.enhanced(try self.enhanced(2), isRetained: false, now: .seconds(0)))
        #expect(update.update.intermediate.count == 1)
        #expect(preference.published(try self.published(2), now: .seconds(0)) == nil)
        #expect(preference.deadline(interval: nil) == nil)
    }
}

extension MonotonicTime {
    fileprivate static func seconds(_ seconds: Int64) -> MonotonicTime { MonotonicTime(.seconds(seconds)) }
}
