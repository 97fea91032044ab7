import NIOCore
import TrackingCore
import TrackingSubscriber

/// Encodes the server-sent events of a live stream. Their payloads are those of the tracking protocol, with the member
/// `trackable` added.
enum LiveFrame {
    /// The JSON text `"late":true` with a comma after it. This member marks a position, an event or a trip as late: it
    /// does not describe the present.
    static let late = #""late":true,"#

    /// Returns the server-sent event for a position; `nil` if it cannot be encoded. Its list of skipped points has the
    /// earlier points that were not delivered yet.
    ///
    /// - Parameter event: The id of the server-sent event in the stream; `nil` for none.
    static func position(_ received: ReceivedUpdate, of id: TrackableID, as event: LiveEventID?) -> ByteBuffer? {
        var update = received.update
        update.skipped = received.skipped
        guard let payload = try? LocationCodec.encode(update) else { return nil }
        return Self.event(.position, of: id, payload, extra: received.isLate ? Self.late : "", as: event)
    }

    /// Returns a server-sent event that contains a message of the tracking protocol.
    ///
    /// - Parameters:
    ///   - payload: The message; `nil` if the trackable no longer has a value of this kind, such as a position or a
    ///     trip.
    ///   - extra: JSON members to add in front of those of the payload.
    ///   - event: The id of the server-sent event in the stream; `nil` for none.
    static func event(
        _ kind: LiveUpdate.Kind, of id: TrackableID, _ payload: [UInt8]?, extra: String = "", as event: LiveEventID?
    ) -> ByteBuffer {
        var buffer = ByteBuffer()
        if let event { buffer.writeString("id: \(event)\n") }
        buffer.writeString("event: \(kind.rawValue)\ndata: {\"trackable\":")
        buffer.writeBytes(JSONValue.text(id.rawValue).json)
        // The payload is a JSON object, whose members follow `trackable`. A line end, which JSON has only between
        // tokens, would end the event's data, so a space replaces it.
        if let payload, payload.count > 2 {
            buffer.writeString(",\(extra)")
            buffer.writeBytes(payload.dropFirst().lazy.map { Self.isLineEnd($0) ? UInt8(ascii: " ") : $0 })
        } else {
            buffer.writeString("}")
        }
        buffer.writeString("\n\n")
        return buffer
    }

    /// Returns a server-sent event from its JSON data.
    static func event(_ kind: LiveUpdate.Kind, data: [UInt8], as event: LiveEventID) -> ByteBuffer {
        var buffer = ByteBuffer(string: "id: \(event)\nevent: \(kind.rawValue)\ndata: ")
        buffer.writeBytes(data)
        buffer.writeString("\n\n")
        return buffer
    }

    /// Returns the server-sent event of a journey or an estimate. Its message is the value of the member that has the
    /// name of the kind, because it is `null` when it was cleared.
    ///
    /// - Parameters:
    ///   - payload: The message; `nil` if it was cleared.
    ///   - event: The id of the server-sent event in the stream; `nil` for none.
    static func journey(
        _ kind: LiveUpdate.Kind, of id: TrackableID, _ payload: [UInt8]?, as event: LiveEventID?
    ) -> ByteBuffer {
        let message = Array("{\"\(kind.rawValue)\":".utf8) + (payload ?? Array("null".utf8)) + Array("}".utf8)
        return Self.event(kind, of: id, message, as: event)
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    /// Returns a server-sent event about the live stream itself, such as `reset`.
    static func stream(_ name: String, _ members: [String: JSONValue], as event: LiveEventID? = nil) -> ByteBuffer {
        var buffer = ByteBuffer()
        if let event { buffer.writeString("id: \(event)\n") }
        buffer.writeString("event: \(name)\ndata: ")
        buffer.writeBytes(JSONValue.object(members).json)
        buffer.writeString("\n\n")
        return buffer
    }

    /// Returns the server-sent event for a heartbeat, with the gateway's time. The event's id has the number of the
    /// last update and the present time, so that a client can resume a quiet stream from the heartbeat. Without
    /// `canResume`, the event has no id.
    ///
    /// A missing heartbeat shows a client that the connection is dead. The heartbeat is not a comment in the stream,
    /// because web pages cannot see comments.
    static func heartbeat(_ id: LiveEventID, canResume: Bool) -> ByteBuffer {
        Self.stream("heartbeat", ["now": .number(id.time.seconds)], as: canResume ? id : nil)
    }
}
