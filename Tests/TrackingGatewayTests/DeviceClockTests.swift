import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// The clocks of devices in the gateway's current state.
struct DeviceClockTests {
    private static let now = UnixTime(1_790_000_000)
    private var state = LiveHubState(epoch: 7)
    private let van: TrackableID

    init() throws { self.van = try TrackableID("van") }

    private func point(ahead: Double, latitude: Double = 52) throws -> Location {
        let place = try #require(Coordinate(latitude: latitude, longitude: 0))
        return Location(coordinate: place, time: UnixTime(Self.now.seconds + ahead))
    }

    private mutating func receive(_ point: Location, skipped: [Location] = []) -> LiveUpdate? {
        let update = LocationUpdate(location: point, skipped: skipped)
        return self.state.happened(
            .location(
                self.van, ReceivedUpdate(update: update, skipped: skipped, isLate: false, isRetained: false)),
            at: Self.now)
    }

    private func text(_ update: LiveUpdate?) -> String { String(decoding: update?.payload ?? [], as: UTF8.self) }

    @Test mutating func aClockThatIsAheadIsPublishedOnceUntilItsLeadChanges() throws {
        let first = self.state.judge(try self.point(ahead: 85), of: self.van, at: Self.now)
        #expect(first.lead == 85 && first.isFirst)
        #expect(self.text(first.update) == #"{"trackable":"van","ahead":85}"#)
        let second = self.state.judge(try self.point(ahead: 86), of: self.van, at: Self.now)
        #expect(second.lead == 86 && !second.isFirst && second.update == nil)
        let third = self.state.judge(try self.point(ahead: 95), of: self.van, at: Self.now)
        #expect(self.text(third.update).contains(#""ahead":95"#))
        let known = String(decoding: self.state.known(self.van)?.members["clock"] ?? [], as: UTF8.self)
        #expect(known.contains(#""ahead":95"#))
        let right = self.state.judge(try self.point(ahead: 1), of: self.van, at: Self.now)
        #expect(right.lead == nil && right.update?.isCleared == true)
        #expect(self.state.known(self.van)?.members["clock"] == nil)
        #expect(self.state.judge(try self.point(ahead: 1), of: self.van, at: Self.now).update == nil)
        #expect(!self.state.judge(try self.point(ahead: 90), of: self.van, at: Self.now).isFirst, "reported once")
    }

    @Test mutating func noFaultyPointBecomesTheLivePosition() throws {
        let right = try self.point(ahead: 0)
        #expect(self.receive(right) != nil)
        #expect(self.receive(try self.point(ahead: 61)) == nil)
        #expect(self.receive(try self.point(ahead: 2, latitude: 0)) == nil)
        #expect(self.state.positions == [self.van: right])
        let next = try self.point(ahead: 3)
        let update = self.receive(next, skipped: [try self.point(ahead: 1, latitude: 0), try self.point(ahead: 2)])
        #expect(update?.location == next && !self.text(update).contains("[0,0]"))
    }

    @Test mutating func aGatewayWhoseClockIsNotSetJudgesNone() throws {
        let judgement = self.state.judge(try self.point(ahead: 85), of: self.van, at: UnixTime(1000))
        #expect(judgement == LiveHubState.ClockJudgement())
    }
}
