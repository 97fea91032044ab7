import Testing
import TrackingCore

@testable import TrackingRecorder

/// The search for abandoned messages: the lease of their member ended long ago, according to the received messages.
@Suite struct HousekeeperTests {
    private static let day = Duration.seconds(86_400)
    private var housekeeper = Housekeeper(root: .standard, patience: Self.day * 7)
    private var now = MonotonicTime(.zero)

    init() { self.housekeeper.connected(now: self.now) }

    private mutating func pass(_ duration: Duration) -> [String] {
        self.now = self.now.advanced(by: duration)
        return self.housekeeper.abandoned(now: self.now)
    }

    private mutating func receive(_ topic: String, _ payload: String, isRetained: Bool = false) {
        let message = IncomingMessage(topic: topic, payload: Array(payload.utf8)[...], isRetained: isRetained)
        self.housekeeper.received(message, now: self.now)
    }

    private static func online(lease: Int) -> String {
        #"{"status":"online","session":"s","connection":0,"lease":\#(lease)}"#
    }

    private static let presence = #"{"type":"SUBSCRIBER","session":"s","connection":0,"lease":90,"since":1}"#

    private mutating func leaveBehind() {
        self.receive("tracking/_clients/desk", Self.online(lease: 90), isRetained: true)
        self.receive("tracking/van/subscriber/desk", Self.presence, isRetained: true)
        self.receive("tracking/van/request/desk", "{}", isRetained: true)
        self.receive("tracking/van", "{}", isRetained: true)
    }

    @Test mutating func abandonedMessagesAreClearedAfterSevenDaysAndALeaseLivenessLast() {
        self.leaveBehind()
        #expect(self.pass(Self.day * 7) == [])
        #expect(
            self.pass(.seconds(3_690)) == [
                "tracking/van/request/desk", "tracking/van/subscriber/desk", "tracking/_clients/desk",
            ])
        #expect(self.pass(Self.day) == [])
    }

    @Test mutating func aLiveMemberIsNotCleared() {
        self.leaveBehind()
        for _ in 0..<20 {
            #expect(self.pass(Self.day) == [])
            self.receive("tracking/_clients/desk", Self.online(lease: 90))
        }
        #expect(self.pass(Self.day * 7 + .seconds(90)).count == 3)
    }

    @Test mutating func aLongLeaseIsRespected() {
        self.receive("tracking/_clients/desk", Self.online(lease: 86_400))
        #expect(self.pass(Self.day * 7 + .seconds(90)) == [])
        #expect(self.pass(Self.day) == ["tracking/_clients/desk"])
    }

    @Test mutating func aRetainedLivenessIsNoSignOfLife() {
        self.leaveBehind()
        for _ in 0..<6 {
            _ = self.pass(Self.day)
            self.leaveBehind()
        }
        #expect(self.pass(Self.day + .seconds(90)).count == 3)
    }

    @Test mutating func noTimeRunsWhileNotConnected() {
        self.leaveBehind()
        _ = self.pass(Self.day * 6)
        self.housekeeper.disconnected(now: self.now)
        #expect(self.pass(Self.day * 30) == [])
        self.housekeeper.connected(now: self.now)
        self.leaveBehind()
        #expect(self.pass(.seconds(3_690)) == [])
        #expect(self.pass(Self.day).count == 3)
    }

    /// The member came back during the outage, and its heartbeat arrives within a lease.
    @Test mutating func anAbandonedMemberHasALeaseAfterAConnection() {
        self.leaveBehind()
        _ = self.pass(Self.day * 7)
        self.housekeeper.disconnected(now: self.now)
        self.housekeeper.connected(now: self.now)
        self.receive("tracking/_clients/desk", Self.online(lease: 86_400), isRetained: true)
        #expect(self.pass(.seconds(3_690)) == [])
        self.receive("tracking/_clients/desk", Self.online(lease: 86_400))
        #expect(self.pass(Self.day * 7) == [])
    }

    @Test mutating func clearedMessagesAreForgotten() {
        self.leaveBehind()
        for topic in ["tracking/van/subscriber/desk", "tracking/van/request/desk", "tracking/_clients/desk"] {
            self.receive(topic, "")
        }
        #expect(self.pass(Self.day * 8) == [])
    }
}
