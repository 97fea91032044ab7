import Testing
import TrackingCore

@testable import TrackingSubscriber

/// The presences and resolution requests of a subscriber.
@Suite struct AttendanceTests {
    private let van = TrackableID(literal: "van")
    private let now = UnixTime(1_000)

    private func session(isAnnounced: Bool = true) throws -> SessionStateMachine {
        let id = try #require(SessionID("s"))
        var session = SessionStateMachine(client: try ClientID("w1"), session: id, lease: .seconds(90))
        guard isAnnounced else { return session }
        session.connected(connection: 0, broker: 0)
        _ = session.settled(now: MonotonicTime(.zero))
        return session
    }

    private func attendance(_ change: (inout SubscriberConfiguration) -> Void = { _ in }) throws -> Attendance {
        let id = try #require(SessionID("s"))
        var configuration = SubscriberConfiguration(client: try ClientID("w1"), session: id)
        change(&configuration)
        return Attendance(configuration: configuration)
    }

    private func resolution(_ seconds: Int) throws -> Resolution {
        try Resolution(accuracy: .high, desiredInterval: .seconds(seconds), minimumDisplacement: 0)
    }

    /// The topics of messages. A cleared topic has the prefix `clear`.
    private func topics(_ messages: [Attendance.Message]) -> [String] {
        messages.map { message in
            switch message {
            case .publish(let topic, _): TopicRoot.standard.path(topic)
            case .clear(let topic): "clear \(TopicRoot.standard.path(topic))"
            }
        }
    }

    @Test func theRequestPrecedesThePresence() throws {
        var attendance = try self.attendance()
        attendance.watch(self.van, try self.resolution(1))
        let messages = attendance.announce(self.van, try self.session(), at: self.now)
        #expect(self.topics(messages) == ["tracking/van/request/w1", "tracking/van/subscriber/w1"])
    }

    @Test func aWithdrawnRequestIsClearedWithEachAnnouncement() throws {
        var attendance = try self.attendance()
        attendance.watch(self.van, try self.resolution(1))
        let session = try self.session()
        _ = attendance.announce(self.van, session, at: self.now)
        let withdrawn = attendance.request(nil, for: self.van, session, at: self.now)
        #expect(self.topics(withdrawn) == ["clear tracking/van/request/w1"])
        let again = attendance.announce(self.van, session, at: self.now)
        #expect(self.topics(again) == ["clear tracking/van/request/w1", "tracking/van/subscriber/w1"])
    }

    @Test func aSilentSubscriberPublishesNothing() throws {
        var attendance = try self.attendance { $0.isSilent = true }
        attendance.watch(self.van, try self.resolution(1))
        let session = try self.session()
        #expect(attendance.announce(self.van, session, at: self.now) == [])
        let messages = attendance.request(try self.resolution(2), for: self.van, session, at: self.now)
        #expect(messages == [])
        #expect(attendance.unwatch(self.van, session.client) == [])
        #expect(attendance.leaveAll(session.client) == [])
    }

    @Test func aSubscriberThatIsPresentWhileAskingComesAndGoesWithItsRequest() throws {
        var attendance = try self.attendance { $0.isPresentOnlyWhileAsking = true }
        attendance.watch(self.van, nil)
        let session = try self.session()
        #expect(attendance.announce(self.van, session, at: self.now) == [])
        let asked = attendance.request(try self.resolution(1), for: self.van, session, at: self.now)
        #expect(self.topics(asked) == ["tracking/van/request/w1", "tracking/van/subscriber/w1"])
        let left = attendance.request(nil, for: self.van, session, at: self.now)
        #expect(self.topics(left) == ["clear tracking/van/request/w1", "clear tracking/van/subscriber/w1"])
        #expect(attendance.leaveAll(session.client) == [], "it has left already")
    }

    @Test func withoutAConnectionNothingIsPublished() throws {
        var attendance = try self.attendance()
        attendance.watch(self.van, try self.resolution(1))
        let session = try self.session(isAnnounced: false)
        #expect(attendance.announce(self.van, session, at: self.now) == [])
        let messages = attendance.request(try self.resolution(2), for: self.van, session, at: self.now)
        #expect(messages == [])
        let wanted = try self.resolution(2)
        #expect(attendance.request(for: self.van) == wanted)
        #expect(attendance.unwatch(self.van, session.client) == [])
    }
}
