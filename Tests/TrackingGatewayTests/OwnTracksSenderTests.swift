import Testing
import TrackingCore

@testable import TrackingGateway

/// The end of the bridge's sender after a lost connection.
@Suite(.timeLimit(.minutes(5))) struct OwnTracksSenderTests {
    /// A transport that delivers prepared events, and then stays silent until it is cancelled.
    private struct Script: MessageTransport {
        let events: AsyncStream<[TransportEvent]>

        init(_ losses: [Disconnection]) {
            let (events, continuation) = AsyncStream.makeStream(of: [TransportEvent].self)
            for loss in losses { continuation.yield([.disconnected(loss)]) }
            // A closed connection ends a sender that waits for the next one.
            continuation.yield([.disconnected(Disconnection(reason: Self.closed, retry: nil, lasted: nil))])
            self.events = events
        }

        static let closed = TrackingError(.stopped, "closed by the test")

        func send(_ commands: [TransportCommand]) {}
        func run() async {
            let (silence, continuation) = AsyncStream.makeStream(of: Never.self)
            for await _ in silence {}
            continuation.finish()
        }
    }

    /// Runs a sender whose connection is lost for the given reasons, and returns the error with which it ends.
    private func ending(after losses: [Disconnection], failsFast: Bool) async throws -> TrackingError? {
        let reader = OwnTracksReader.Configuration(topics: try OwnTracksTopics())
        let sender = OwnTracksSender(
            configuration: OwnTracksRepublisher.Configuration(reader: reader, name: "bridge-out"),
            transport: Script(losses), failsFast: failsFast)
        let result = await #expect(throws: TrackingError.self) { try await sender.run() }
        return result
    }

    @Test func anUnreachableBrokerEndsASenderThatFailsFast() async throws {
        let reason = TrackingError(.brokerUnreachable, "no server listens")
        let lost = Disconnection(
            reason: TrackingError(.connectionLost, "cut"), retry: .seconds(1), lasted: .seconds(9000))
        let failed = Disconnection(reason: reason, retry: .seconds(1), lasted: nil)
        let nextAddress = Disconnection(reason: reason, retry: .zero, lasted: nil)
        #expect(try await self.ending(after: [lost, nextAddress, failed], failsFast: true) == reason)
        #expect(try await self.ending(after: [lost, nextAddress], failsFast: true) == Script.closed)
        #expect(try await self.ending(after: [lost, nextAddress, failed], failsFast: false) == Script.closed)
    }

    /// The broker's own statement (reason code 0x8E) ends the sender. A mere suspicion does not.
    @Test func aTakeoverEndsTheSender() async throws {
        let suspicion = TrackingError(.takenOver, "4 connections in a row were closed")
        let stated = TrackingError(.takenOver, "another program connected with the same client id", reasonCode: 0x8E)
        func lost(_ reason: TrackingError) -> Disconnection {
            Disconnection(reason: reason, retry: .seconds(1), lasted: .seconds(60))
        }
        #expect(try await self.ending(after: [lost(suspicion), lost(stated)], failsFast: false) == stated)
        #expect(try await self.ending(after: [lost(suspicion)], failsFast: false) == Script.closed)
    }
}
