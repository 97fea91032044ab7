import Testing
import TrackingCore

/// The search for a record that the store refuses.
@Suite struct RecordingHalvingTests {
    private static let time = UnixTime(1_790_000_000)

    /// A live position of each trackable, and a batch of many records of one.
    private func batch() throws -> RecordingBatch {
        var batch = RecordingBatch()
        let features = (1...5).map { seq in
            #"{"type":"Feature","geometry":{"type":"Point","coordinates":[-8,52]},"properties":{"time":\#(seq),"seq":\#(seq)}}"#
        }
        let history =
            #"{"batch":"b","stream":"s1","oldest":1,"points":["# + features.joined(separator: ",")
            + #"],"remaining":0}"#
        for (topic, payload) in [
            ("tracking/van/history", history),
            ("tracking/bus", #"{"location":\#(features[0]),"skippedLocations":[],"type":"ACTUAL"}"#),
            ("tracking/tram", "nonsense"),
        ] {
            let message = IncomingMessage(topic: topic, payload: Array(payload.utf8)[...], isRetained: false)
            batch.received(message, root: .standard, at: Self.time)
        }
        return batch
    }

    /// The batches that remain after halving until no half can be halved.
    private func pieces(_ batch: RecordingBatch) -> [RecordingBatch] {
        guard let (first, second) = batch.halved() else { return [batch] }
        return self.pieces(first) + self.pieces(second)
    }

    @Test func everyRecordIsFoundOnceInItsOrder() throws {
        let batch = try self.batch()
        let pieces = self.pieces(batch)
        #expect(pieces.flatMap(\.recordings).flatMap(\.points) == batch.recordings.flatMap(\.points))
        #expect(pieces.flatMap(\.recordings).compactMap(\.declaration) == batch.recordings.compactMap(\.declaration))
        #expect(pieces.flatMap(\.refused) == batch.refused)
        // Five points, the stream's declaration, a position, and an invalid message.
        #expect(pieces.count == 8)
    }

    @Test func aQuarantinedRecordKeepsItsNameAndIsQuarantinedOnce() throws {
        let piece = try #require(self.pieces(try self.batch()).first)
        let aside = piece.setAside(because: "poison", root: .standard)
        let refused = try #require(aside.refused.first)
        #expect(aside.recordings.isEmpty && aside.refused.count == 1)
        #expect(refused.trackable == (try TrackableID("van")) && refused.stream == StreamID("s1") && refused.seq == 1)
        #expect(refused.reason == "poison" && !refused.payload.isEmpty)
        let bare = aside.setAside(because: "even that", root: .standard)
        #expect(bare.refused.first?.seq == 1 && bare.refused.first?.payload.isEmpty == true)
        #expect(bare.setAside(because: "and that", root: .standard).isEmpty)
    }
}
