import NIOCore
import TrackingCore
import TrackingSubscriber

/// The bytes of server-sent events. The payloads are the protocol's own, with the member `trackable` in front.
enum LiveFrame {
    /// The JSON member that marks a historic position or event.
    static let late = #""late":true,"#

    /// Returns the event of a position; `skipped` has the earlier points that were not published.
    static func position(_ received: ReceivedUpdate, of id: TrackableID, as event: LiveEventID?) -> ByteBuffer? {
        var update = received.update
        update.skipped = received.skipped
        guard let payload = try? LocationCodec.encode(update) else { return nil }
        return Self.event(.position, of: id, payload, extra: received.isLate ? Self.late : "", as: event)
    }

    /// Returns an event with the protocol's payload, or without one if the value was cleared.
    static func event(
        _ kind: LiveUpdate.Kind, of id: TrackableID, _ payload: [UInt8]?, extra: String = "", as event: LiveEventID?
    ) -> ByteBuffer {
        var buffer = ByteBuffer()
        if let event { buffer.writeString("id: \(event)\n") }
        buffer.writeString("event: \(kind.rawValue)\ndata: {\"trackable\":")
        buffer.writeBytes(JSONValue.text(id.rawValue).json)
        // The payload is an object: its members follow ours. A line end, which JSON has only between tokens, would end
        // the data.
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

    /// Returns an event about the stream itself.
    static func stream(_ name: String, _ members: [String: JSONValue], as event: LiveEventID? = nil) -> ByteBuffer {
        var buffer = ByteBuffer()
        if let event { buffer.writeString("id: \(event)\n") }
        buffer.writeString("event: \(name)\ndata: ")
        buffer.writeBytes(JSONValue.object(members).json)
        buffer.writeString("\n\n")
        return buffer
    }

    /// Returns a heartbeat with the time and the stream's position, so that a quiet stream can resume here. It is an
    /// event because pages cannot see comments. A missing heartbeat means that the connection is dead.
    static func heartbeat(_ id: LiveEventID) -> ByteBuffer {
        Self.stream("heartbeat", ["now": .number(id.time.seconds)], as: id)
    }
}
