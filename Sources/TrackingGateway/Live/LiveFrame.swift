import NIOCore
import TrackingCore
import TrackingSubscriber

/// The bytes of server-sent events. The payloads are the protocol's own, with the member `trackable` in front.
enum LiveFrame {
    /// The member of what is history, never what is now.
    static let late = #""late":true,"#

    /// The event of a position; `skipped` is what was not told before.
    static func position(_ received: ReceivedUpdate, of id: TrackableID, as event: LiveEventID?) -> ByteBuffer? {
        var update = received.update
        update.skipped = received.skipped
        guard let payload = try? LocationCodec.encode(update) else { return nil }
        return Self.event(.position, of: id, payload, extra: received.isLate ? Self.late : "", as: event)
    }

    /// An event with the protocol's payload; without any where it was cleared.
    static func event(
        _ kind: LiveUpdate.Kind, of id: TrackableID, _ payload: [UInt8]?, extra: String = "", as event: LiveEventID?
    ) -> ByteBuffer {
        var buffer = ByteBuffer()
        if let event { buffer.writeString("id: \(event)\n") }
        buffer.writeString("event: \(kind.rawValue)\ndata: {\"trackable\":")
        buffer.writeBytes(JSONValue.text(id.rawValue).json)
        // The payload is an object: its members follow ours. A line end, which JSON has between its parts alone, would end the data.
        if let payload, payload.count > 2 {
            buffer.writeString(",\(extra)")
            buffer.writeBytes(payload.dropFirst().lazy.map { Self.isLineEnd($0) ? UInt8(ascii: " ") : $0 })
        } else {
            buffer.writeString("}")
        }
        buffer.writeString("\n\n")
        return buffer
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    /// An event of the stream itself.
    static func stream(_ name: String, _ members: [String: JSONValue], as event: LiveEventID? = nil) -> ByteBuffer {
        var buffer = ByteBuffer()
        if let event { buffer.writeString("id: \(event)\n") }
        buffer.writeString("event: \(name)\ndata: ")
        buffer.writeBytes(JSONValue.object(members).json)
        buffer.writeString("\n\n")
        return buffer
    }

    /// Keeps the connection alive, and tells what time it is and how far the stream is, so that a quiet one resumes from here. It
    /// is an event, as pages do not see comments: where it stays away, the line is dead.
    static func heartbeat(_ id: LiveEventID) -> ByteBuffer {
        Self.stream("heartbeat", ["now": .number(id.time.seconds)], as: id)
    }
}
