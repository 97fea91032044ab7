import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for a device that booted in 1970: numbers give the order, the receiver gives the time, and an unknown time
/// is marked.
struct UnsetClockTests {
    /// The time members of a record in the log.
    private struct Entry: Equatable {
        var seq: UInt64
        var what: String
        var time: Double
        var isMarked: Bool
    }

    private static let reported = 1_790_000_000.0

    /// A publisher of `van` whose device's clock shows second 1000 of 1970.
    private func conversation() throws -> PublisherConversation {
        var configuration = CaptureStateMachine.Configuration()
        configuration.fixFloor = ClockTrust.gpsEpoch
        let capture = CaptureStateMachine(
            filter: try CaptureFilter(), zones: try PrivacyZones(), configuration: configuration)
        let battery = try LowBatteryDetector(threshold: 10)
        var talk = try PublisherConversation([try PublisherConversation.van()]) {
            $0.capture = capture
            $0.lowBattery = battery
            $0.recordsLifecycle = true
        }
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.echoed()
        return talk
    }

    private func fix(_ talk: inout PublisherConversation, _ time: Double, at second: Int) throws -> [String] {
        talk.now = MonotonicTime(.seconds(second))
        var fix = Location(
            coordinate: try #require(Coordinate(latitude: Double(second) / 1000, longitude: 1)), time: UnixTime(time))
        fix.source = .gps
        return talk.happened(.fix(fix, raw: fix)) + talk.acked()
    }

    private func entries(_ talk: PublisherConversation) throws -> [Entry] {
        try talk.log.values.flatMap(\.values).sorted { $0.seq < $1.seq }.map { record in
            if record.kind == .event {
                let event = try MessageCodec.decodeEvent(record.payload[...])
                return Entry(
                    seq: event.seq, what: event.kind.rawValue, time: event.time.seconds,
                    isMarked: event.detail["clock"] == .text("unset"))
            }
            let point = try LocationCodec.decodeFeature(record.payload)
            let extra = point.extra.map { String(decoding: $0, as: UTF8.self) }
            return Entry(
                seq: record.seq, what: "point", time: point.time.seconds,
                isMarked: extra?.contains(#""clock":"unset""#) == true)
        }
    }

    @Test func eventsAndPointsHaveTheBestTimeThatIsKnown() throws {
        var talk = try self.conversation()
        // No record leaves the log, so that the test can inspect it.
        talk.isRemovalIgnored = true
        var updates = try self.fix(&talk, 4, at: 10)
        updates += try self.fix(&talk, Self.reported, at: 20)
        talk.now = MonotonicTime(.seconds(25))
        _ = talk.happened(.battery(5))
        updates += try self.fix(&talk, 9, at: 40)
        // Then the network sets the clock.
        talk.clockStep = .seconds(Self.reported + 50 - 1000 - 45)
        talk.now = MonotonicTime(.seconds(45))
        _ = talk.happened(.recordEvent(.sourceLost, [:]))
        #expect(
            try self.entries(talk) == [
                Entry(seq: 1, what: "STARTED", time: 1000, isMarked: true),
                Entry(seq: 2, what: "point", time: 4, isMarked: true),
                Entry(seq: 3, what: "point", time: Self.reported, isMarked: false),
                Entry(seq: 4, what: "LOW_BATTERY", time: Self.reported + 5, isMarked: false),
                Entry(seq: 5, what: "point", time: Self.reported + 20, isMarked: false),
                Entry(seq: 6, what: "CLOCK_JUMP", time: Self.reported + 50, isMarked: false),
                Entry(seq: 7, what: "SOURCE_LOST", time: Self.reported + 50, isMarked: false),
            ])
        // A receiver's time is never too far ahead of a clock that is not set.
        // A point with an unknown time is not a live position.
        #expect(updates.filter { $0.hasPrefix("van: update") } == ["van: update 3 skipped 2", "van: update 5"])
    }

    @Test func aTripThatBeganWithoutATimeIsMeasuredAllTheSame() throws {
        var talk = try self.conversation()
        talk.isRemovalIgnored = true
        _ = talk.happened(.trip(try TrackableID("van"), try TripMode("car"), request: 1))
        _ = try self.fix(&talk, Self.reported, at: 30)
        talk.now = MonotonicTime(.seconds(90))
        _ = talk.happened(.trip(try TrackableID("van"), nil, request: 2))
        let ended = try #require(talk.log.values.flatMap(\.values).filter { $0.kind == .trip }.max { $0.seq < $1.seq })
        let trip = try MessageCodec.decodeTrip(ended.payload[...])
        #expect(trip.duration == 90)
        #expect(trip.end == UnixTime(Self.reported + 60))
    }
}
