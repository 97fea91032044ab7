import Testing
import TrackingCore

struct HistoryCodecTests {
    private func point(_ seq: UInt64) -> SpoolRecord {
        var location = Location(coordinate: Coordinate(latitude: 52, longitude: -8)!, time: UnixTime(Double(seq)))
        location.seq = seq
        location.tripID = "t"
        return SpoolRecord(
            seq: seq, time: location.time, kind: .point, tripID: "t", payload: LocationCodec.encodeFeature(location))
    }

    private func event(_ seq: UInt64) -> SpoolRecord {
        let event = TrackingEvent(
            id: "e", stream: StreamID("s")!, seq: seq, time: UnixTime(9), kind: .lowBattery,
            detail: ["percent": .number(9)])
        return SpoolRecord(seq: seq, time: event.time, kind: .event, payload: MessageCodec.encode(event))
    }

    private func trip(_ seq: UInt64) -> SpoolRecord {
        var trip = Trip(id: "t", mode: "bicycle", start: UnixTime(1), stream: StreamID("s")!, seq: seq)
        trip.state = .ended
        trip.end = UnixTime(8)
        trip.endedBy = .user
        trip.distance = 12.5
        trip.duration = 7
        return SpoolRecord(
            seq: seq, time: UnixTime(8), kind: .trip, tripID: "t", payload: MessageCodec.encode(trip))
    }

    @Test func aBatchIsReadAsItWasWritten() throws {
        let batch = HistoryBatch(
            id: "b", stream: StreamID("s")!, oldest: 3, gone: [4...4, 6...8],
            records: [self.point(3), self.event(5), self.trip(9), self.point(10)], remaining: 7, end: 12)
        let decoded = try HistoryCodec.decode(HistoryCodec.encode(batch))
        #expect(decoded.batch == batch)
        #expect(decoded.refused.isEmpty)
    }

    @Test func tripsAndEventsOfABatchAreReadByThemselves() throws {
        let batch = HistoryBatch(
            id: "b", stream: StreamID("other")!, oldest: 3,
            records: [self.point(3), self.event(5), self.trip(9), self.point(10)])
        let documents = try HistoryCodec.decodeDocuments(HistoryCodec.encode(batch))
        #expect(documents.trips.map(\.seq) == [9] && documents.events.map(\.seq) == [5])
        #expect(documents.trips.first?.stream == batch.stream && documents.events.first?.stream == batch.stream)
        #expect(documents.refusal == nil)
        let event = String(decoding: self.event(5).payload, as: UTF8.self)
        let damaged = #"{"batch":"b","stream":"s","oldest":1,"points":[7],"events":[{},\#(event)]}"#
        let read = try HistoryCodec.decodeDocuments(Array(damaged.utf8))
        #expect(read.events.map(\.seq) == [5] && read.refusal?.code == .invalidPayload)
        #expect(throws: TrackingError.self) { try HistoryCodec.decodeDocuments(Array("[]".utf8)) }
    }

    @Test func aBatchWithoutRecordsIsAllowed() throws {
        let batch = HistoryBatch(id: "b", stream: StreamID("s")!, oldest: 11)
        #expect(try HistoryCodec.decode(HistoryCodec.encode(batch)).batch == batch)
    }

    @Test func oneBadRecordDoesNotTakeTheOthersAlong() throws {
        let good = String(decoding: self.point(4).payload, as: UTF8.self)
        let text =
            #"{"batch":"b","stream":"s","oldest":1,"points":[{"properties":{"seq":3}},\#(good),5],"remaining":0}"#
        let decoded = try HistoryCodec.decode(Array(text.utf8))
        #expect(decoded.batch.records.map(\.seq) == [4])
        #expect(decoded.refused.map(\.seq) == [3, nil])
        #expect(decoded.refused[0].reason.message.hasPrefix("points[0]"))
    }

    @Test(arguments: [
        #"{"stream":"s","oldest":1}"#, #"{"batch":"b","oldest":1}"#, #"{"batch":"b","stream":"s","oldest":0}"#,
        #"{"batch":"b","stream":"s","oldest":1,"gone":[[4,3]]}"#,
        #"{"batch":"b","stream":"s","oldest":1,"gone":[[4]]}"#,
        #"{"batch":"b","stream":"s","oldest":1,"points":5}"#, #"[]"#,
    ]) func anInvalidBatchIsRefused(_ text: String) {
        #expect(throws: TrackingError.self) { try HistoryCodec.decode(Array(text.utf8)) }
    }

    @Test func anAcknowledgementIsReadAsItWasWritten() throws {
        let acknowledgement = Acknowledgement(streams: [StreamID("k3f9q2wz")!: 4711, StreamID("a")!: 0])
        let bytes = HistoryCodec.encode(acknowledgement)
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"streams":{"a":0,"k3f9q2wz":4711}}"#)
        #expect(try HistoryCodec.decodeAcknowledgement(bytes) == acknowledgement)
        let many = (0..<20).map { "\"s\($0)\":\($0)" }.joined(separator: ",")
        #expect(try HistoryCodec.decodeAcknowledgement(Array("{\"streams\":{\(many)}}".utf8)).streams.count == 8)
    }

    @Test(arguments: [
        (#"{"streams":{"vjk":"x"}}"#, "streams.vjk must be"), (#"{"streams":7}"#, "streams must be an object"),
    ])
    func aBadAcknowledgementNamesTheMember(payload: String, reason: String) {
        let error = #expect(throws: TrackingError.self) {
            _ = try HistoryCodec.decodeAcknowledgement(Array(payload.utf8))
        }
        #expect(error?.message.hasPrefix(reason) == true, "\(String(describing: error))")
    }

    @Test func aChangeOfAnySingleByteChangesTheChecksum() {
        let record = self.point(3)
        let stream = StreamID("s")!
        let sum = record.checksum(in: stream)
        for index in record.payload.indices {
            for bit in 0..<8 {
                var changed = record
                changed.payload[index] ^= 1 << UInt8(bit)
                #expect(changed.checksum(in: stream) != sum)
            }
        }
        var other = record
        other.seq = 4
        #expect(other.checksum(in: stream) != sum)
        #expect(record.checksum(in: StreamID("t")!) != sum)
    }
}
