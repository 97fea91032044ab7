import Testing
import TrackingCore

/// The disconnections that count as a failure.
@Suite struct DisconnectionTests {
    private static let down = TrackingError(.brokerUnreachable, "nobody answers")

    @Test func theLastOfTheAddressesDecides() {
        #expect(Disconnection(reason: Self.down, retry: .zero, lasted: nil).failure == nil, "another one is next")
        #expect(Disconnection(reason: Self.down, retry: .seconds(1), lasted: nil).failure == Self.down)
        #expect(Disconnection(reason: Self.down, retry: nil, lasted: nil).failure == Self.down, "never again")
    }

    @Test func theLossOfAnEstablishedConnectionIsNoFailure() {
        #expect(Disconnection(reason: Self.down, retry: .seconds(1), lasted: .seconds(5)).failure == nil)
        #expect(Disconnection(reason: nil, retry: nil, lasted: nil).failure == nil, "closed in order")
    }
}
