import Foundation
import Synchronization
import Testing
import TrackingCore
import TrackingTesting

@testable import TrackingGateway

/// Ingestion from OwnTracks with the broker in memory, when the records of one trackable cannot be acknowledged.
@Suite(.timeLimit(.minutes(5))) struct OwnTracksReceiverTests {
    private let folder = TemporaryFolder()

    private func message(_ device: String, _ second: Int) -> OutgoingMessage {
        let payload = #"{"_type":"location","lat":52.1,"lon":-8.5,"tst":\#(1_790_000_000 + second)}"#
        return OutgoingMessage(topic: "owntracks/jane/\(device)", payload: Array(payload.utf8), isRetained: false)
    }

    @Test func aTrackableThatTheBrokerRejectsDelaysNoOther() async throws {
        let broker = InMemoryBroker()
        let (ours, phone) = (broker.client(try ClientID("bridge")), broker.client(try ClientID("phone")))
        let asked = Mutex<[(id: String, patience: Duration)]>([])
        let database = try self.folder.database()
        let receiver = OwnTracksReceiver(
            reader: OwnTracksReader(OwnTracksReader.Configuration(topics: try OwnTracksTopics())), transport: ours,
            quarantine: Quarantine(database: database),
            take: { (id, batch, patience) throws(TrackingError) in
                let tries = asked.withLock { asked in
                    asked.append((id.rawValue, patience))
                    return asked.count { $0.id == id.rawValue }
                }
                switch id.rawValue {
                case "jane-bad": throw TrackingError(.notAuthorized, "not taken: forbidden; 1 records are tried on")
                case "jane-full" where tries == 1: throw TrackingError(.spoolFailed, "the disk is full")
                default: break
                }
            })
        let running = Task { try await receiver.run() }
        let publishing = Task { await phone.run() }
        for await events in phone.events {
            if case .connected? = events.first { break }
        }
        func ids() -> [String] { asked.withLock { $0.map(\.id) } }
        func waitUntilReceived(_ what: String, _ isSo: ([String]) -> Bool) async throws {
            let deadline = ContinuousClock.now + .seconds(60)
            while !isSo(ids()) {
                try #require(ContinuousClock.now < deadline, "\(what): \(ids())")
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        // The test repeats the message until the receiver is subscribed: earlier messages are lost.
        while ids().isEmpty {
            phone.send([.publish(self.message("bad", 1), 1)])
            try await Task.sleep(for: .milliseconds(20))
        }
        phone.send([.publish(self.message("good", 2), 2)])
        try await waitUntilReceived("the other phone") { $0.contains("jane-good") }
        phone.send([.publish(self.message("bad", 3), 3)])
        phone.send([.publish(self.message("good", 4), 4)])
        try await waitUntilReceived("the other phone again") { $0.count { $0 == "jane-good" } == 2 }
        // A trackable with late acknowledgements gets a shorter wait. Its records are in the log, so that none is
        // quarantined.
        let waits = asked.withLock { $0.filter { $0.id == "jane-bad" }.map(\.patience) }
        #expect(waits.first == Intake.patience && waits.last == .seconds(1))
        #expect(try await Quarantine(database: database).entries(limit: 10).isEmpty)
        // A record that is not in the log either is retried.
        phone.send([.publish(self.message("full", 5), 5)])
        try await waitUntilReceived("a second try") { $0.count { $0 == "jane-full" } == 2 }
        running.cancel()
        publishing.cancel()
        _ = try? await running.value
    }
}
