import Testing
import TrackingCore
import TrackingTesting

@testable import TrackingPublisher

/// A simulated day of a parcel van: 8 h with 120 stops of 2 min, a lunch break of 45 min, and customers who watch.
@Suite struct ParcelVanTests {
    private static let hours = 8
    /// The device's own resolution, that of the mode `passive`.
    private static let own = Resolution.every(milliseconds: 120_000, .low)

    /// A subscriber that watches the van for some time.
    private struct Watcher {
        let seconds: Range<Int>
        let interval: Int
    }

    /// Every 24 min, a customer watches for 8 min at an interval of 60 to 110 s. Every hour, one follows the last 3 min
    /// of the way with a fix in 10 s.
    private static let watchers: [Watcher] = Self.waiting + Self.following

    private static let waiting: [Watcher] = (0..<20).map { index in
        let start = index * 1440 + 300
        return Watcher(seconds: start..<start + 480, interval: 60 + index % 6 * 10)
    }

    private static let following: [Watcher] = (0..<8).map { index in
        let start = index * 3600 + 500
        return Watcher(seconds: start..<start + 180, interval: 10)
    }

    /// The speed of the van in metres a second: it stands for two minutes at each stop, and from 12:00 for 45 min.
    private static func speed(at second: Int) -> Double {
        let isLunch = (14_400..<17_100).contains(second)
        return isLunch || second % (Self.hours * 3600 / 120) < 120 ? 0 : 8
    }

    private struct Day {
        var on: Duration = .zero
        var charge = 0.0
        /// The greatest time by which a request was answered after its interval.
        var latest: Duration = .zero
        var published = 0
        var pauses = 0
    }

    @Test func aParcelVansReceiverIsOnAQuarterOfTheDayAndNoRequestIsAnsweredFiveSecondsLate() throws {
        let day = try self.drive()
        let always = Duration.seconds(Self.hours * 3600)
        #expect(day.on * 4 <= always, "on for \(day.on)")
        #expect(day.latest <= .seconds(5), "late by \(day.latest)")
        // Without these the figures would mean nothing.
        #expect(day.published > 200 && day.pauses >= 1)
        #expect(day.charge < 0.3 * 8 * SimulatedReceiver.Current.measuring, "drew \(day.charge) mA·h")
    }

    private func drive() throws -> Day {
        var day = Day()
        var place = try #require(Coordinate(latitude: 52.66, longitude: -8.62))
        var now = MonotonicTime(.zero)
        var receiver = SimulatedReceiver(seed: 7, now: now)
        var power = ReceiverPower(resolution: Self.own, now: now)
        var pause = PauseStateMachine(activity: .automotive)
        var filter = LocationFilter(resolution: Self.own)
        var answered: [Int: Int] = [:]
        receiver.wake()
        for second in 1...Self.hours * 3600 {
            now = MonotonicTime(.seconds(second))
            place = place.destination(bearing: 90, distance: Meters(Self.speed(at: second)))
            let watching = Self.watchers.indices.filter { Self.watchers[$0].seconds.contains(second) }
            let wanted = watching.map { Self.watchers[$0].interval }.min()
            let resolution = wanted.map { Resolution.every(milliseconds: $0 * 1000).finer(of: Self.own) } ?? Self.own
            filter.resolution = resolution
            let needed = pause.isPaused && watching.isEmpty ? resolution.resting : resolution
            Self.perform(power.wanted(needed, now: now), &receiver)
            if receiver.advance(to: now) {
                var fix = Location(coordinate: place, time: UnixTime(1_790_000_000 + Double(second)))
                (fix.speed, fix.accuracyHorizontal) = (Self.speed(at: second), 8)
                if case .paused? = pause.moved(fix, at: Moment(now: now, wall: fix.time)) { day.pauses += 1 }
                if filter.consider(fix, now: now, wallClock: fix.time).isSent {
                    filter.sent(fix, now: now)
                    day.published += 1
                    for index in watching { answered[index] = second }
                }
                Self.perform(power.received(fix, now: now), &receiver)
            }
            Self.perform(power.timerFired(now: now), &receiver)
            for index in watching {
                let watcher = Self.watchers[index]
                let since = max(watcher.seconds.lowerBound, answered[index] ?? 0)
                day.latest = max(day.latest, .seconds(second - since - watcher.interval))
            }
        }
        (day.on, day.charge) = (receiver.onTime, receiver.charge)
        return day
    }

    private static func perform(_ effect: ReceiverPower.Effect?, _ receiver: inout SimulatedReceiver) {
        switch effect {
        case .sleep: receiver.sleep()
        case .wake: receiver.wake()
        case nil: break
        }
    }
}
