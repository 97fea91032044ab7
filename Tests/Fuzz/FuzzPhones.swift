import TrackingCore

@testable import TrackingGateway
@testable import TrackingPublisher

private let secret = OwnTracksSecret(passphrase: "harbour lights")
private let now = UnixTime(1_790_000_000)

/// Overland's batches, in all their forms.
func fuzzOverland(_ bytes: [UInt8]) {
    checkBatch { () throws(TrackingError) in try OverlandDecoder.decode(bytes, receivedAt: now, secret: secret) }
}

/// The messages of OwnTracks' apps, encrypted or not, of whichever epoch.
func fuzzOwnTracksApp(_ bytes: [UInt8]) {
    for countsFrom2001 in [false, true] {
        checkBatch { () throws(TrackingError) in
            try OwnTracksDecoder.decode(bytes, receivedAt: now, secret: secret, countsFrom2001: countsFrom2001)
        }
    }
}

/// GeoJSON from programs of one's own.
func fuzzPoints(_ bytes: [UInt8]) {
    checkBatch { () throws(TrackingError) in try PointsDecoder.decode(bytes) }
}

/// Decoding says the same each time, and what it accepts can be sent and arrives as it was.
private func checkBatch(_ decode: () throws(TrackingError) -> PhoneBatch) {
    guard let batch = try? decode() else { return }
    precondition(batch == (try? decode()), "the same request is not the same batch")
    precondition(batch.refused.allSatisfy { $0.bytes.count <= RefusedPiece.maximumBytes && !$0.reason.isEmpty })
    for record in batch.records {
        switch record.content.named(RecordName(stream: RecordDraft.unnamed, seq: 1)) {
        case .point(let location):
            precondition((try? LocationCodec.decodeFeature(LocationCodec.encodeFeature(location))) == location)
        case .event(let event):
            precondition((try? MessageCodec.decodeEvent(MessageCodec.encode(event))) == event)
        case .trip(let trip):
            precondition((try? MessageCodec.decodeTrip(MessageCodec.encode(trip))) == trip)
        }
    }
}
