package import TrackingCore

/// Decodes the request bodies of the app Overland, of its fork for Android and of compatible programs: `{"locations":
/// […]}`, a list of GeoJSON Features, a single Feature, and the single object of Overland's OwnTracks mode.
package enum OverlandDecoder {
    /// Decodes the body of a request from Overland.
    ///
    /// - Parameters:
    ///   - body: The bytes of the body.
    ///   - receivedAt: The time of arrival, which becomes the time of messages without a time of their own.
    ///   - secret: The key of encrypted messages; `nil` for none.
    /// - Throws: `invalidPayload` if the body is not JSON or has none of the accepted forms; `payloadTooLarge` if it
    ///   has too many Features. An invalid Feature does not throw; it is added to ``PhoneBatch/refused``.
    package static func decode(
        _ body: [UInt8], receivedAt: UnixTime, secret: OwnTracksSecret? = nil
    ) throws(TrackingError) -> PhoneBatch {
        let limit = PhoneBatch.maximumRecords
        var batch = PhoneBatch()
        let root = try JSONParts.value(of: body[...])
        if let features = try JSONParts.elements(of: root, limit: limit) {
            for feature in features { batch.add(feature, OverlandFeature.records) }
            return batch
        }
        guard let members = try JSONParts.members(of: root) else { throw Self.nothing }
        if members["_type"] != nil {
            return try OwnTracksDecoder.decode(
                body, receivedAt: receivedAt, secret: secret, countsFrom2001: true)
        }
        guard let list = members["locations"], let features = try JSONParts.elements(of: list, limit: limit) else {
            guard members["properties"] != nil else { throw Self.nothing }
            batch.add(root, OverlandFeature.records)
            return batch
        }
        for feature in features { batch.add(feature, OverlandFeature.records) }
        if let current = members["current"], !Self.isNull(current) { batch.add(current, OverlandFeature.records) }
        if let trip = members["trip"], !Self.isNull(trip) { batch.add(trip, OverlandTrip.underWay) }
        return batch
    }

    private static func isNull(_ value: ArraySlice<UInt8>) -> Bool {
        value.elementsEqual("null".utf8) || value.elementsEqual(#""""#.utf8)
    }

    private static let nothing = TrackingError(
        .invalidPayload, "the request's body has no list of locations: send {\"locations\": […]} as Overland does")
}
