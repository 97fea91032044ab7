import Testing
import TrackingCore

/// The size limits of events, trips, presences and trip identifiers.
struct MessageSizeTests {
    private func event(_ detail: String, seq: UInt64 = 5) -> [UInt8] {
        Array(#"{"id":"e","stream":"s","seq":\#(seq),"time":9,"kind":"VISIT","detail":\#(detail)}"#.utf8)
    }

    private func detail(of bytes: Int) -> String {
        #"{"a":""# + String(repeating: "x", count: bytes - 8) + #""}"#
    }

    private func refusal(_ body: () throws(TrackingError) -> some Any) -> TrackingError? {
        do throws(TrackingError) { _ = try body() } catch { return error }
        return nil
    }

    @Test func theDetailOfAnEventHasAtMost16KiB() throws {
        let most = WireLimits.maximumDetailBytes
        #expect(try MessageCodec.decodeEvent(self.event(self.detail(of: most))).detail.count == 1)
        let large = self.event(self.detail(of: most + 1))
        let error = self.refusal { () throws(TrackingError) in try MessageCodec.decodeEvent(large) }
        #expect(error?.code == .payloadTooLarge)
        #expect(error?.message == "the detail of an event may have at most 16384 bytes; this one has 16385 bytes")
        // White space counts as well, because the bytes are stored unchanged.
        let wide = self.event(#"{"a":1\#(String(repeating: " ", count: most))}"#)
        #expect(self.refusal { () throws(TrackingError) in try MessageCodec.decodeEvent(wide) } != nil)
        #expect(try MessageCodec.decodeStoredEvent(large).detail.count == 1, "what was stored before is still read")
    }

    /// A `\n` escape may have two bytes in the input and six in the output.
    @Test func aDetailThatGrowsByEncodingIsRefused() throws {
        let lines = self.event(#"{"a":""# + String(repeating: #"\n"#, count: 4_000) + #""}"#)
        #expect(
            self.refusal { () throws(TrackingError) in try MessageCodec.decodeEvent(lines) }?.code == .payloadTooLarge)
    }

    @Test func theOtherMembersOfAnEventAreBounded() throws {
        let rest = #", "other": "\#(String(repeating: "x", count: WireLimits.maximumDocumentBytes))"}"#
        let event = self.event("{}").dropLast() + Array(rest.utf8)
        #expect(
            self.refusal { () throws(TrackingError) in try MessageCodec.decodeEvent(event) }?.code == .payloadTooLarge)
        let presence =
            #"{"type":"PUBLISHER","session":"s","connection":0,"lease":90,"since":1"#
        _ = try MessageCodec.decodePresence(Array((presence + "}").utf8))
        #expect(
            self.refusal { () throws(TrackingError) in try MessageCodec.decodePresence(Array((presence + rest).utf8)) }?
                .code == .payloadTooLarge)
    }

    /// The event counts as a gap with a reason, and blocks no other record.
    @Test func aTooLargeEventDoesNotAffectItsBatch() throws {
        let large = String(decoding: self.event(self.detail(of: 20_000), seq: 5), as: UTF8.self)
        let good = String(decoding: self.event("{}", seq: 6), as: UTF8.self)
        let batch = Array(#"{"batch":"b","stream":"s","oldest":5,"events":[\#(large),\#(good)]}"#.utf8)
        let decoded = try HistoryCodec.decode(batch)
        #expect(decoded.batch.records.map(\.seq) == [6])
        #expect(decoded.refused.map(\.seq) == [5] && decoded.refused[0].reason.message.contains("at most 16384 bytes"))
        #expect(try HistoryCodec.decodeDocuments(batch).events.map(\.seq) == [6])
    }

    @Test func theAnswerToACommandFitsIntoItsEvent() throws {
        let result = ["records": JSONValue.text(String(repeating: "x", count: 20_000))]
        let answer = CommandAnswer(id: "c1", outcome: .success(result))
        #expect(answer.members["result"] != nil)
        #expect(answer.eventDetail == ["id": .text("c1"), "ok": .flag(true), "resultOmitted": .flag(true)])
        let small = CommandAnswer(id: "c1", outcome: .success(["records": .number(1)]))
        #expect(small.eventDetail == small.members)
        #expect(try CommandAnswer(members: answer.eventDetail).outcome == .success([:]))
    }

    @Test func theEventOfAFailureIsNeverASuccess() throws {
        let code = CommandFailure.Code(rawValue: String(repeating: "\u{1}", count: 20_000))
        let failure = CommandFailure(code, String(repeating: "\u{1}", count: 20_000))
        let detail = CommandAnswer(id: String(repeating: "\u{1}", count: 64), outcome: .failure(failure)).eventDetail
        #expect(JSONValue.object(detail).json.count <= WireLimits.maximumDetailBytes)
        #expect(detail["ok"] == .flag(false) && detail["resultOmitted"] == nil)
        let outcome = try CommandAnswer(members: detail).outcome
        guard case .failure(let read) = outcome else {
            Issue.record("the failure became a success")
            return
        }
        #expect(read.code.rawValue.utf8.count == 64 && read.message.utf8.count == 1000)
    }

    @Test(arguments: ["a\u{1B}[2J", "a\u{9B}", "a\u{202E}b", "a\nb", String(repeating: "t", count: 65)])
    func anIDOfATripIsPlainAndShort(id: String) throws {
        var location = Location(coordinate: Coordinate(latitude: 52, longitude: -8)!, time: UnixTime(1))  // in range
        location.tripID = "5f2c"
        let json = String(decoding: LocationCodec.encodeFeature(location), as: UTF8.self)
        let bad = json.replacing("\"5f2c\"", with: String(decoding: JSONValue.text(id).json, as: UTF8.self))
        let error = self.refusal { () throws(TrackingError) in try LocationCodec.decodeFeature(Array(bad.utf8)) }
        #expect(error?.message.hasPrefix("properties.tripId must be a string of 1 to 64 bytes") == true)
        location.tripID = id
        #expect(
            self.refusal { () throws(TrackingError) in try LocationCodec.encode(LocationUpdate(location: location)) }?
                .code == .invalidPayload)
        #expect(try LocationCodec.decodeFeature(LocationCodec.encodeFeature(location)).tripID == nil)
    }

    @Test(arguments: ["a\u{1B}[2J", "a\u{202E}b"]) func aTripHasAPlainIDAndMode(text: String) throws {
        let stream = try #require(StreamID("s"))
        for trip in [
            Trip(id: text, mode: "car", start: UnixTime(1), stream: stream, seq: 1),
            Trip(id: "t", mode: text, start: UnixTime(1), stream: stream, seq: 1),
        ] {
            let bytes = MessageCodec.encode(trip)
            #expect(
                self.refusal { () throws(TrackingError) in try MessageCodec.decodeTrip(bytes) }?.code == .invalidPayload
            )
            #expect(try MessageCodec.decodeStoredTrip(bytes) == trip, "what was stored before is still read")
        }
    }

    @Test func aWordForMotionCountsOnce() throws {
        let words = Array(repeating: #""driving""#, count: 1000).joined(separator: ",")
        let feature =
            #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"time":1,"motion":[\#(words),"walking"]}}"#
        #expect(try LocationCodec.decodeFeature(Array(feature.utf8)).motion == [.driving, .walking])
    }
}
