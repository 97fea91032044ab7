import Testing
import TrackingCore

@testable import TrackingPublisher

/// Policies of a user, which decide by the situation of the trackable: by the time of day, by the distance to the
/// destination, and by speed and connection.
@Suite struct CustomPolicyTests {
    /// One position in ten minutes from 22 to 5 o'clock UTC.
    private struct Night: ResolutionPolicy {
        func resolution(for conditions: TrackingConditions) -> Resolution {
            let hour = conditions.situation.time.map { Int($0.seconds) / 3600 % 24 }
            let isNight = hour.map { $0 >= 22 || $0 < 5 } ?? false
            return isNight ? .low(every: .seconds(600)) : DefaultResolutionPolicy().resolution(for: conditions)
        }
    }

    /// The nearer the destination, the more positions: the interval is a second for each 100 m, and a minute at most.
    private struct Approaching: ResolutionPolicy {
        func resolution(for conditions: TrackingConditions) -> Resolution {
            let seconds = conditions.distance.map { min(60, max(1, Int($0.value / 100))) } ?? 60
            return .balanced(every: .seconds(seconds))
        }
    }

    /// A position every 100 m, measured each second. Without a connection, positions are a minute apart. A parcel may be
    /// silent for an hour.
    private struct Spaced: ResolutionPolicy {
        func resolution(for conditions: TrackingConditions) -> Resolution {
            guard conditions.situation.isConnected, let speed = conditions.situation.speed else {
                return .balanced(every: .seconds(60))
            }
            return .balanced(every: .seconds(100 / speed))
        }

        func sensorResolution(for conditions: TrackingConditions) -> Resolution? { .high(every: .seconds(1)) }

        func maximumSilence(for conditions: TrackingConditions) -> Duration? {
            conditions.metadata == "parcel" ? .seconds(3600) : nil
        }
    }

    private func resolution(_ talk: PublisherConversation) throws -> ResolutionInForce {
        try MessageCodec.decodeResolution(try #require(talk.said["tracking/van/resolution"])[...])
    }

    private func fix(_ talk: inout PublisherConversation, at second: Double, metres: Double = 0) throws -> [String] {
        _ = talk.wait(.seconds(second) - talk.now.sinceOrigin)
        return try talk.fix(at: second, metres: metres)
    }

    @Test func thePublisherIsSlowAtNightAndTheTimeIsThatOfEachFix() throws {
        // The test begins at a quarter past midnight.
        var talk = try PublisherConversation.online(PublisherConversation.van { $0.policy = Night() })
        #expect(try self.resolution(talk).resolution == .low(every: .seconds(600)))
        _ = talk.request("w1", interval: 1000)
        _ = talk.subscriber("w1")
        #expect(try self.resolution(talk).resolution == .low(every: .seconds(600)))
        // The subscriber is gone after its lease.
        let said = try self.fix(&talk, at: 17_000)
        #expect(said.contains("van/resolution: BALANCED/10000/0 ONLINE subscribers 0"), "\(said)")
        #expect(said.contains("sensor BALANCED/10000/0"))
    }

    @Test func theIntervalFollowsTheDistanceToTheDestination() throws {
        let there = try #require(Coordinate(latitude: 3000 / 111_195.0, longitude: 1))
        var talk = try PublisherConversation.online(
            PublisherConversation.van {
                $0.policy = Approaching()
                $0.destination = there
            })
        #expect(try self.resolution(talk).resolution == .balanced(every: .seconds(30)))
        let said = try self.fix(&talk, at: 70, metres: 2450)
        #expect(said.contains("sensor BALANCED/5000/0"), "\(said)")
        _ = talk.wait(.seconds(2))
        // The policy of the publisher takes the place of the trackable's own, and decides at once.
        _ = talk.happened(.change(try PublisherConversation.van { $0.destination = there }))
        #expect(try self.resolution(talk).resolution.desiredInterval == .seconds(10))
    }

    @Test func aPolicyDecidesTheReceiverAndTheSilenceToo() throws {
        var talk = try PublisherConversation.online(
            PublisherConversation.van {
                $0.policy = Spaced()
                $0.metadata = "parcel"
            })
        #expect(try self.resolution(talk).maximumSilence == .seconds(3600))
        #expect(
            talk.machine.snapshot(at: Moment(now: talk.now, wall: UnixTime(1000))).sensorResolution
                == .high(every: .seconds(1)))
        for second in 1...20 { _ = try self.fix(&talk, at: Double(second), metres: Double(10 * second)) }
        let interval = try self.resolution(talk).resolution.desiredInterval
        #expect((.milliseconds(9_900)...(.milliseconds(10_100))).contains(interval), "\(interval)")
        _ = talk.wait(.seconds(2))
        #expect(talk.lose().contains { $0.hasPrefix("tell van BALANCED/60000/0") })
        _ = talk.happened(.change(try PublisherConversation.van { $0.policy = Spaced() }))
        _ = talk.connect(1)
        _ = talk.granted()
        let silence = try self.resolution(talk).maximumSilence
        #expect((.seconds(99)...(.seconds(101))).contains(silence), "ten intervals, not \(silence)")
    }

    @Test func twoTrackablesAreEqualOnlyWithTheSamePolicy() throws {
        let one = try PublisherConversation.van { $0.policy = Night() }
        let other = try PublisherConversation.van { $0.policy = Night() }
        let copy = one
        #expect(one == copy && one != other)
    }
}
