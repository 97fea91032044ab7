import Testing
import TrackingCore
import TrackingStore

@testable import TrackingRecorder

/// The time by which the recorder removes expired records.
struct RetentionClockTests {
    private let day = 86_400.0
    private let twentyYears = 20 * 365.25 * 86_400
    private let now = 1_790_000_000.0

    private func moment(_ wall: Double, after seconds: Double = 0) -> Moment {
        Moment(now: MonotonicTime(.seconds(seconds)), wall: UnixTime(wall))
    }

    private func newest(position: Double? = nil, state: Double? = nil) -> NewestTimes {
        NewestTimes(position: position.map { UnixTime($0) }, state: state.map { UnixTime($0) })
    }

    @Test func aClockThatIsAheadRemovesNothing() {
        var clock = RetentionClock()
        let wall = self.now + self.twentyYears
        let known = self.newest(position: self.now - 60, state: self.now - 90)
        #expect(
            clock.time(at: self.moment(wall), newest: known, isSynchronized: false).seconds == self.now - 60 + self.day)
        // Records that arrive meanwhile have the time of the wrong clock, so they do not confirm it.
        let later = self.newest(position: self.now + 3600, state: wall + 1800)
        let time = clock.time(at: self.moment(wall + 3600, after: 3600), newest: later, isSynchronized: false)
        #expect(time.seconds == self.now + 3600 + self.day)
    }

    @Test func aClockThatIsSetForwardRemovesNothing() {
        var clock = RetentionClock()
        let known = self.newest(position: self.now - 60)
        #expect(clock.time(at: self.moment(self.now), newest: known, isSynchronized: false).seconds == self.now)
        let time = clock.time(
            at: self.moment(self.now + self.twentyYears, after: 3600), newest: known, isSynchronized: false)
        #expect(time.seconds == self.now - 60 + self.day + 3600)
    }

    @Test func aSynchronizedClockIsBelieved() {
        var clock = RetentionClock()
        let wall = self.now + 200 * self.day
        let known = self.newest(position: self.now)
        #expect(clock.time(at: self.moment(wall), newest: known, isSynchronized: true).seconds == wall)
        let later = self.moment(wall + self.day, after: self.day)
        #expect(clock.time(at: later, newest: known, isSynchronized: false).seconds == wall + self.day)
    }

    /// A drive of long ago that was sent today.
    @Test func recentRecordsExplainTheClockAtAnyTime() {
        var clock = RetentionClock()
        let known = self.newest(position: self.now - self.twentyYears, state: self.now - 3600)
        #expect(clock.time(at: self.moment(self.now), newest: known, isSynchronized: false).seconds == self.now)
    }

    @Test func aClockThatIsBehindIsFollowed() {
        var clock = RetentionClock()
        #expect(
            clock.time(at: self.moment(5), newest: self.newest(position: self.now), isSynchronized: false).seconds == 5)
        #expect(RetentionClock.longestSilence == .seconds(86_400))
    }

    @Test func anEmptyHistoryBelievesTheClock() {
        var clock = RetentionClock()
        #expect(clock.time(at: self.moment(self.now), newest: self.newest(), isSynchronized: false).seconds == self.now)
    }
}
