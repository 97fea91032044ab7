package import TrackingCore

/// Decodes the messages of OwnTracks, which have the same form over HTTP and MQTT.
package enum OwnTracksDecoder {
    /// Decodes an OwnTracks message or a list of messages. An empty body has no messages.
    ///
    /// - Parameters:
    ///   - body: The bytes of the HTTP body or MQTT payload.
    ///   - receivedAt: The time of arrival, which becomes the time of messages without a time of their own.
    ///   - secret: The key of encrypted messages; `nil` for none.
    ///   - countsFrom2001: `true` if times before 2010 are counted from the year 2001, as in Overland's OwnTracks mode.
    /// - Throws: `invalidPayload` if the body is not JSON or has only numbers and words; `payloadTooLarge` if there are
    ///   too many messages. An invalid message does not throw; it is added to ``PhoneBatch/refused``.
    package static func decode(
        _ body: [UInt8], receivedAt: UnixTime, secret: OwnTracksSecret? = nil, countsFrom2001: Bool = false
    ) throws(TrackingError) -> PhoneBatch {
        let reader = OwnTracksMessage(receivedAt: receivedAt, secret: secret, countsFrom2001: countsFrom2001)
        let limit = PhoneBatch.maximumRecords
        var batch = PhoneBatch()
        let texts = try JSONParts.values(of: body[...], limit: limit)
        try JSONParts.requireRecords(in: texts)
        for text in texts {
            for message in try JSONParts.elements(of: text, limit: limit) ?? [text] {
                batch.add(message) { value, text throws(BadPiece) in try reader.records(value, text) }
                // One message may have thousands of waypoints.
                guard batch.records.count <= limit else { throw JSONParts.tooMany(limit) }
            }
        }
        return batch
    }
}
