import TrackingCore

@testable import TrackingGateway
@testable import TrackingPublisher

private let secret = OwnTracksSecret(passphrase: "harbour lights")
private let now = UnixTime(1_790_000_000)

/// Decodes Overland's batches in all their forms.
func fuzzOverland(_ bytes: [UInt8]) {
    checkBatch { () throws(TrackingError) in try OverlandDecoder.decode(bytes, receivedAt: now, secret: secret) }
}

/// Decodes the messages of the OwnTracks apps, encrypted and plain, at any epoch.
func fuzzOwnTracksApp(_ bytes: [UInt8]) {
    for countsFrom2001 in [false, true] {
        checkBatch { () throws(TrackingError) in
            try OwnTracksDecoder.decode(bytes, receivedAt: now, secret: secret, countsFrom2001: countsFrom2001)
        }
    }
}

/// Decodes NextBillion.ai's `LocationData`.
func fuzzNextBillion(_ bytes: [UInt8]) {
    checkBatch { () throws(TrackingError) in try NextBillionDecoder.decode(bytes) }
}

/// Decodes GeoJSON from custom programs.
func fuzzPoints(_ bytes: [UInt8]) {
    checkBatch { () throws(TrackingError) in try PointsDecoder.decode(bytes) }
}

/// Checks that decoding is repeatable, and that an accepted batch can be sent and arrives unchanged.
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
