public import TrackingCore

/// One line that an agent says on its control socket.
public enum ControlLine: Hashable, Sendable {
    /// What came of the command; the last line about it.
    case answer(CommandAnswer)
    /// How far a long command is: so many of so many.
    case progress(id: String, done: Int, total: Int)
    /// One thing of the many that a command hands over.
    case item(id: String, JSONValue)

    /// The line, its end included.
    ///
    /// - Throws: `payloadTooLarge` above 128 KB.
    func encoded() throws(TrackingError) -> [UInt8] {
        let newline = [UInt8(ascii: "\n")]
        switch self {
        case .answer(let answer): return try CommandCodec.encode(answer) + newline
        case .progress(let id, let done, let total):
            let progress: [String: JSONValue] = ["done": .number(Double(done)), "total": .number(Double(total))]
            return JSONValue.object(["id": .text(id), "progress": .object(progress)]).json + newline
        case .item(let id, let item):
            let bytes = JSONValue.object(["id": .text(id), "item": item]).json
            guard bytes.count <= WireLimits.maximumPayloadBytes else {
                throw TrackingError(.payloadTooLarge, "an item is too large for one line")
            }
            return bytes + newline
        }
    }

    /// Reads a line without its end.
    ///
    /// - Throws: `invalidPayload` or `payloadTooLarge`.
    init(line: some Collection<UInt8>) throws(TrackingError) {
        let value = try JSONValue(json: line)
        guard let members = value.object, let id = members["id"]?.text else {
            throw TrackingError(.invalidPayload, "a line must be an object with an id")
        }
        if let progress = members["progress"], let done = progress["done"]?.count, let total = progress["total"]?.count
        {
            self = .progress(id: id, done: done, total: total)
        } else if let item = members["item"] {
            self = .item(id: id, item)
        } else {
            self = .answer(try CommandAnswer(members: members))
        }
    }
}

/// Cuts what comes from the other end of a socket into lines, within bounded memory.
struct LineBuffer {
    /// The most bytes of a line, its end not counted.
    let limit: Int
    private var begun: [UInt8] = []

    init(limit: Int) { self.limit = limit }

    /// Takes in the next bytes.
    ///
    /// - Returns: The lines that they end; `nil` when one is longer than the limit, after which nothing can be read.
    mutating func append(_ bytes: ArraySlice<UInt8>) -> [[UInt8]]? {
        var lines: [[UInt8]] = []
        var rest = bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            self.begun += rest[..<end]
            guard self.begun.count <= self.limit else { return nil }
            lines.append(self.begun)
            self.begun = []
            rest = rest[(end + 1)...]
        }
        self.begun += rest
        return self.begun.count <= self.limit ? lines : nil
    }
}
