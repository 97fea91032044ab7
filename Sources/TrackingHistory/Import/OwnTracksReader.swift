import TrackingCore

/// Reads files of the OwnTracks Recorder. Each line has the time, the kind of message and the message, separated by
/// tabs. Messages other than locations are skipped. Files with only a message on each line are read too.
struct OwnTracksReader: RecordingDecoder {
    private(set) var failure: TrackingError?
    private var splitter = LineSplitter()
    private var hasRead = false

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] {
        self.splitter.append(bytes).compactMap { self.event(of: $0) }
    }

    mutating func finish() -> [SourceEvent] {
        let last = self.splitter.finish().flatMap { self.event(of: $0) }
        if !self.hasRead {
            self.failure = TrackingError(
                .inputUnreadable, "the input is not an OwnTracks recording: no line contains a message")
        }
        return last.map { [$0] } ?? []
    }

    private mutating func event(of line: LineSplitter.Line) -> SourceEvent? {
        switch line {
        case .tooLong(let number): return .badInput("line \(number) is longer than \(LineSplitter.limit) bytes")
        case .text(let bytes, let number):
            if bytes.allSatisfy(XMLTagReader.isSpace) { return nil }
            do throws(BadPoint) {
                guard let start = bytes.firstIndex(of: UInt8(ascii: "{")),
                    let message = try? JSONValue(json: bytes[start...]), let members = message.object,
                    let source = try? JSONSource(object: bytes[start...])
                else { throw BadPoint("the line contains no JSON object") }
                self.hasRead = true
                return try Self.point(members, source).map { .fix($0) }
            } catch {
                return .badInput("line \(number): \(error.reason)")
            }
        }
    }

    /// Returns the point of an OwnTracks message; `nil` for a message that is not a location.
    private static func point(_ members: [String: JSONValue], _ source: JSONSource) throws(BadPoint) -> Location? {
        guard let kind = members["_type"]?.text else { throw BadPoint("the message has no _type") }
        guard kind != "encrypted" else {
            throw BadPoint("the message is encrypted; configure the recorder to store decrypted messages")
        }
        guard kind == "location" else { return nil }
        var draft = PointDraft()
        for (name, text) in source.members.sorted(by: { $0.key < $1.key }) where name != "_type" {
            if let meaning = self.names[name] {
                if let value = members[name] { draft.set(meaning, to: value) }
            } else {
                draft.addExtra(name, source: text)
            }
        }
        return try draft.location()
    }

    private static let names: [String: PointDraft.Meaning] = [
        "lat": .latitude, "lon": .longitude, "tst": .time, "acc": .accuracyHorizontal, "alt": .altitude,
        "vac": .accuracyVertical, "vel": .kilometresPerHour, "cog": .bearing, "batt": .batteryPercent,
    ]
}
