public import TrackingCore

/// One line of JSON that an agent sends to a client of its control socket.
public enum ControlLine: Hashable, Sendable {
    /// The answer to a command: its result or its failure. No further line follows for this command.
    case answer(CommandAnswer)
    /// The progress of a long command: the number of records that were sent so far, and the number of all records to
    /// send.
    case progress(id: String, done: Int, total: Int)
    /// One of several items that the agent sends for a command before the answer, such as one record of an export.
    case item(id: String, JSONValue)

    /// Returns the line as JSON with its line end.
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
                throw TrackingError(
                    .payloadTooLarge,
                    "cannot answer the command: the answer has \(bytes.count) bytes, and the limit is \(WireLimits.maximumPayloadBytes). Ask for less in one command"
                )
            }
            return bytes + newline
        }
    }

    /// Parses a line that an agent sent, without its line end.
    ///
    /// - Throws: `invalidPayload` for a line of another form; `payloadTooLarge` for a line that is too long.
    init(line: some Collection<UInt8>) throws(TrackingError) {
        let value = try JSONValue(json: line)
        guard let members = value.object, let id = members["id"]?.text else {
            throw TrackingError(
                .invalidPayload,
                "cannot read the agent's answer: it is not a JSON object with an id. Use programs of the same version")
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

/// Splits the bytes received on a socket into lines, within bounded memory.
struct LineBuffer {
    /// The largest number of bytes in a line that is received on the socket, without its line end.
    let limit: Int
    private var begun: [UInt8] = []

    init(limit: Int) { self.limit = limit }

    /// Appends bytes that were received on the socket.
    ///
    /// - Returns: The lines that are now complete, without line ends. `nil` when a line exceeds the limit; the caller
    ///   must then close the connection.
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
