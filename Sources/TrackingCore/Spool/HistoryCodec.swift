/// The JSON encoding of two kinds of messages: batches of records (topic `history`) and the recorders' acknowledgements
/// (topic `ack/{recorder}`).
public enum HistoryCodec {
    /// Encodes a batch as a JSON message. The JSON of each record is copied unchanged.
    public static func encode(_ batch: HistoryBatch) -> [UInt8] {
        var head = JSONWriter(capacity: 512)
        head.raw("{")
        head.member("batch", batch.id)
        head.member("stream", batch.stream.rawValue)
        head.member("oldest", batch.oldest)
        if !batch.gone.isEmpty { head.member("gone", batch.gone) }
        head.name("points")
        head.raw("[")
        var tail = JSONWriter(capacity: 512)
        tail.raw("]")
        if batch.records.contains(.trip) { tail.member("trips", batch.records, .trip) }
        if batch.records.contains(.event) { tail.member("events", batch.records, .event) }
        tail.member("remaining", batch.remaining)
        tail.member("end", batch.end)
        tail.raw("}")
        // Points are the largest part, so they are copied only once.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(head.count + batch.records.byteCount + batch.records.count + tail.count)
        bytes += head.bytes
        let start = bytes.count
        batch.records.forEachPayload(of: .point) { payload in
            if bytes.count > start { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: payload)
        }
        bytes += tail.bytes
        return bytes
    }

    /// Decodes the JSON message of a batch. The records are ordered by number and keep their original JSON. A record
    /// that cannot be decoded is no error; it is returned in ``DecodedBatch/refused``.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decode(_ payload: some Collection<UInt8>) throws(TrackingError) -> DecodedBatch {
        let message = try JSONObject(payload: payload)
        var batch = HistoryBatch(
            id: try message.required("batch") { json throws(Refusal) in
                try json.text("a string of 1 to 64 bytes") { (1...64).contains($0.utf8.count) ? $0 : nil }
            },
            stream: try message.required("stream") { json throws(Refusal) in try json.stream() },
            oldest: try message.required("oldest") { json throws(Refusal) in try json.seq() })
        batch.gone = try message.optional("gone") { json throws(Refusal) in try json.gone() } ?? []
        batch.remaining =
            try message.optional("remaining") { json throws(Refusal) in try json.integer(0...WireLimits.greatest) } ?? 0
        batch.end = try message.optional("end") { json throws(Refusal) in
            UInt64(try json.integer(0...WireLimits.greatest))
        }
        var decoded = DecodedBatch(batch: batch, refused: [])
        let lists: [(StaticString, SpoolRecord.Kind)] = [("points", .point), ("trips", .trip), ("events", .event)]
        var records: [SpoolRecord] = []
        for (name, kind) in lists {
            let elements = try message.optional(name) { json throws(Refusal) in try json.elements() } ?? []
            for (index, bytes) in elements.enumerated() { decoded.take(bytes, kind, "\(name)[\(index)]", &records) }
        }
        records.sort { $0.seq < $1.seq }
        decoded.batch.records = SpoolRecords(records)
        return decoded
    }

    /// Decodes only the trips and events of a batch, not its points. A record that cannot be decoded is no error; see
    /// ``BatchDocuments/refusal``.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    package static func decodeDocuments(_ payload: some Collection<UInt8>) throws(TrackingError) -> BatchDocuments {
        let message = try JSONObject(payload: payload)
        let stream = try message.required("stream") { json throws(Refusal) in try json.stream() }
        var documents = BatchDocuments()
        for bytes in try message.optional("trips", { json throws(Refusal) in try json.elements() }) ?? [] {
            guard var trip = documents.read(bytes, MessageCodec.decodeTrip) else { continue }
            trip.stream = stream
            documents.trips.append(trip)
        }
        for bytes in try message.optional("events", { json throws(Refusal) in try json.elements() }) ?? [] {
            guard var event = documents.read(bytes, MessageCodec.decodeEvent) else { continue }
            event.stream = stream
            documents.events.append(event)
        }
        return documents
    }

    /// Encodes a recorder's acknowledgement as a JSON message. Its streams are ordered by name.
    public static func encode(_ acknowledgement: Acknowledgement) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.raw(#"{"streams":{"#)
        for (stream, seq) in acknowledgement.streams.sorted(by: { $0.key < $1.key }) {
            writer.separate()
            writer.text(stream.rawValue)
            writer.raw(":")
            writer.digits(seq, decimals: 0)
        }
        writer.raw("}}")
        return writer.bytes
    }

    /// Decodes a recorder's acknowledgement. Streams with an invalid id, and streams beyond the first
    /// ``Acknowledgement/maximumStreams``, are ignored.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decodeAcknowledgement(
        _ payload: some Collection<UInt8>
    ) throws(TrackingError) -> Acknowledgement {
        let message = try JSONObject(payload: payload)
        return Acknowledgement(
            streams: try message.required("streams") { json throws(Refusal) in try json.acknowledgedStreams() })
    }
}

/// The trips and events of a batch that could be decoded, and the error of the last one that could not.
package struct BatchDocuments: Hashable, Sendable {
    /// The versions of trips in the batch that could be decoded.
    package var trips: [Trip] = []
    /// The events in the batch that could be decoded.
    package var events: [TrackingEvent] = []
    /// The error of the last trip or event of the batch that could not be decoded; `nil` when all could be decoded.
    package var refusal: TrackingError?

    fileprivate mutating func read<Document>(
        _ bytes: [UInt8], _ decode: ([UInt8]) throws(TrackingError) -> Document
    ) -> Document? {
        do throws(TrackingError) {
            return try decode(bytes)
        } catch {
            self.refusal = error
            return nil
        }
    }
}

/// The result of decoding a batch: its readable and its unreadable records.
public struct DecodedBatch: Hashable, Sendable {
    /// The decoded batch. Its records are those that could be decoded.
    public var batch: HistoryBatch
    /// The records of the batch that cannot be decoded.
    public var refused: [RefusedRecord]

    /// A record of a batch that cannot be decoded.
    public struct RefusedRecord: Hashable, Sendable {
        /// The number of the record that cannot be decoded; `nil` when its number is unreadable too.
        public var seq: UInt64?
        /// The original bytes of the record that cannot be decoded, as they are in the batch.
        public var payload: [UInt8]
        /// The reason why the record cannot be decoded.
        public var reason: TrackingError
    }

    fileprivate mutating func take(
        _ bytes: [UInt8], _ kind: SpoolRecord.Kind, _ name: String, _ records: inout [SpoolRecord]
    ) {
        do throws(TrackingError) {
            records.append(try Self.record(bytes, kind))
        } catch {
            let reason = TrackingError(error.code, "\(name): \(error.message)")
            self.refused.append(RefusedRecord(seq: Self.seq(bytes, kind), payload: bytes, reason: reason))
        }
    }

    private static func record(_ bytes: [UInt8], _ kind: SpoolRecord.Kind) throws(TrackingError) -> SpoolRecord {
        switch kind {
        case .point:
            let point = try LocationCodec.decodeFeature(bytes)
            guard let seq = point.seq else { throw TrackingError(.invalidPayload, "properties.seq is missing") }
            return SpoolRecord(seq: seq, time: point.time, kind: kind, tripID: point.tripID, payload: bytes)
        case .event:
            let event = try MessageCodec.decodeEvent(bytes)
            return SpoolRecord(seq: event.seq, time: event.time, kind: kind, payload: bytes)
        case .trip:
            let trip = try MessageCodec.decodeTrip(bytes)
            return SpoolRecord(seq: trip.seq, time: trip.end ?? trip.start, kind: kind, tripID: trip.id, payload: bytes)
        }
    }

    /// Returns the number of a record that cannot be decoded completely; `nil` when the number is unreadable too.
    private static func seq(_ bytes: [UInt8], _ kind: SpoolRecord.Kind) -> UInt64? {
        guard let record = try? JSONObject(payload: bytes) else { return nil }
        let owner = kind == .point ? try? record.object("properties", .message) : record
        return try? owner?.optional("seq") { json throws(Refusal) in try json.seq() }
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: StaticString, _ ranges: [ClosedRange<UInt64>]) {
        self.name(name)
        self.raw("[")
        for range in ranges {
            self.separate()
            self.raw("[")
            self.digits(range.lowerBound, decimals: 0)
            self.raw(",")
            self.digits(range.upperBound, decimals: 0)
            self.raw("]")
        }
        self.raw("]")
    }

    fileprivate mutating func member(
        _ name: StaticString, _ records: SpoolRecords, _ kind: SpoolRecord.Kind
    ) {
        self.name(name)
        self.raw("[")
        for position in records.indices where records.kind(at: position) == kind {
            self.separate()
            records.payload(at: position).withUnsafeBufferPointer { self.raw($0) }
        }
        self.raw("]")
    }
}

extension JSONScanner {
    fileprivate mutating func seq() throws(Refusal) -> UInt64 {
        UInt64(try self.integer(1...WireLimits.greatest))
    }

    fileprivate mutating func gone() throws(Refusal) -> [ClosedRange<UInt64>] {
        var ranges: [ClosedRange<UInt64>] = []
        try self.beginArray()
        while try self.nextElement() {
            var bounds: [UInt64] = []
            try self.beginArray()
            while try self.nextElement() { bounds.append(try self.seq()) }
            guard bounds.count == 2, bounds[0] <= bounds[1] else {
                throw self.mismatch("ranges of two numbers, the lower first", found: "something else")
            }
            ranges.append(bounds[0]...bounds[1])
        }
        return ranges
    }

    /// Reads a JSON array, and returns the unchanged JSON bytes of each of its elements.
    fileprivate mutating func elements() throws(Refusal) -> [[UInt8]] {
        var elements: [[UInt8]] = []
        try self.beginArray()
        while try self.nextElement() {
            _ = self.peek()
            let start = self.position
            try self.skipValue()
            elements.append(Array(self.read(since: start)))
        }
        return elements
    }

    fileprivate mutating func acknowledgedStreams() throws(Refusal) -> [StreamID: UInt64] {
        var streams: [StreamID: UInt64] = [:]
        try self.beginObject()
        while try self.nextMember() {
            let name = self.key.text
            let seq = UInt64(try self.integer(0...WireLimits.greatest))
            guard let stream = StreamID(name), streams.count < Acknowledgement.maximumStreams else { continue }
            streams[stream] = seq
        }
        return streams
    }
}
