package import TrackingCore

/// Reads the messages of OwnTracks, by HTTP and by MQTT alike.
package enum OwnTracksDecoder {
    /// Reads a message, or a list of them; an empty body is none.
    ///
    /// - Parameters:
    ///   - receivedAt: The time of what has none of its own.
    ///   - secret: The key of what is encrypted.
    ///   - countsFrom2001: Whether times before 2010 are counted from the year 2001, as Overland's OwnTracks mode does.
    /// - Throws: `invalidPayload` where the body is not JSON, or nothing but numbers and words, `payloadTooLarge` where there are too many messages. Whatever is
    ///   wrong with a single message is among ``PhoneBatch/refused``.
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
