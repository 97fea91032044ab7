import TrackingCore
import TrackingCrypto
import TrackingSinks

/// A message of Godwit's protocol for a recorder at another broker. It has as many points from the start of a batch as
/// fit; the others follow in later messages.
struct ForwardMessage: Hashable, Sendable {
    /// The topic of the message: `history` for points with a number, the topic of the trackable for others.
    var topic: Topic
    /// The payload of the message.
    var payload: [UInt8]
    /// The number of points in the message.
    var count: Int

    /// The largest number of bytes of the points in a message, as in the batches of devices: 112,000.
    static let maximumPointBytes = 112_000

    /// Makes the message with the first points of a batch: as many as belong to the same stream and fit, at least one.
    ///
    /// - Throws: `invalidPayload`, `payloadTooLarge` for a point that the protocol does not allow.
    init(_ batch: ForwardBatch) throws(TrackingError) {
        if let stream = batch.points.first?.stream, batch.points.first?.seq != nil {
            self = Self.history(batch, stream)
        } else {
            self = try Self.update(batch)
        }
    }

    private init(_ topic: Topic, _ payload: [UInt8], _ count: Int) {
        self.topic = topic
        self.payload = payload
        self.count = count
    }

    /// Returns a batch of the recording lane with the first points, which belong to this stream. Each point has its own
    /// number, so a recorder stores it once.
    ///
    /// The batch declares no number gone: a point with a lower number may still be stored in the history and forwarded
    /// later. The id depends on the points alone, so a batch that is sent again has the same id.
    private static func history(_ batch: ForwardBatch, _ stream: StreamID) -> Self {
        var records: [SpoolRecord] = []
        var (bytes, digested) = (0, [UInt8]())
        for point in batch.points {
            guard point.stream == stream, let seq = point.seq else { break }
            let payload = LocationCodec.encodeFeature(point, inheriting: stream)
            guard records.isEmpty || bytes + payload.count < Self.maximumPointBytes else { break }
            bytes += payload.count + 1
            digested += payload
            records.append(SpoolRecord(seq: seq, time: point.time, kind: .point, payload: payload))
        }
        let count = records.count
        records.sort { $0.seq < $1.seq }
        let digest = SHA256.digest(of: Array(stream.rawValue.utf8), digested)
        var generator = SplitMix64(seed: digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
        let history = HistoryBatch(
            id: UUIDText.random(using: &generator), stream: stream, oldest: 1, records: SpoolRecords(records),
            remaining: batch.points.count - count)
        return Self(.history(batch.trackable), HistoryCodec.encode(history), count)
    }

    /// Returns a location update with the first points, which have no number. A recorder recognises such a point by its
    /// time and its place.
    private static func update(_ batch: ForwardBatch) throws(TrackingError) -> Self {
        var points = Array(
            batch.points.prefix { $0.stream == nil || $0.seq == nil }.prefix(LocationUpdate.maximumSkipped + 1))
        for index in points.indices { (points[index].stream, points[index].seq) = (nil, nil) }
        while true {
            var ordered = points.sorted { $0.time < $1.time }
            guard let newest = ordered.popLast() else {
                throw TrackingError(.invalidPayload, "cannot forward a batch without points")
            }
            var leftOut = 0
            let payload = try LocationCodec.encode(
                LocationUpdate(location: newest, skipped: ordered), leftOut: &leftOut)
            guard leftOut > 0 else { return Self(.location(batch.trackable), payload, points.count) }
            points.removeLast(leftOut)
        }
    }
}
