package import TrackingCore
import TrackingHistory
import TrackingPublisher

/// Decodes request bodies of points in Godwit's own GeoJSON format: a Feature, a FeatureCollection, a list of Features,
/// or a sequence of these, one in each line or as a text sequence (RFC 8142). The names of the properties are those of
/// an import (`docs/reference/history.md`).
package enum PointsDecoder {
    /// Decodes the body of a request with points.
    ///
    /// - Throws: `invalidPayload` if the body is empty, is not JSON, or has neither an object nor a list;
    ///   `payloadTooLarge` if it has too many Features. An invalid Feature does not throw; it is added to
    ///   ``PhoneBatch/refused``.
    package static func decode(_ body: [UInt8]) throws(TrackingError) -> PhoneBatch {
        let limit = PhoneBatch.maximumRecords
        let sequence = try JSONParts.sequence(body[...], limit: limit)
        try JSONParts.requireRecords(in: sequence.texts)
        var batch = PhoneBatch(refused: sequence.broken)
        var features: [ArraySlice<UInt8>] = []
        for text in sequence.texts {
            let list = try JSONParts.members(of: text)?["features"] ?? text
            features += try JSONParts.elements(of: list, limit: limit) ?? [text]
            guard features.count <= limit else { throw JSONParts.tooMany(limit) }
        }
        for feature in features {
            if let location = PointDraft.ownPoint(feature) {
                batch.records.append(RecordDraft(point: location))
            } else {
                batch.add(feature, Self.record)
            }
        }
        return batch
    }

    private static func record(
        _ feature: JSONValue, _ text: ArraySlice<UInt8>
    ) throws(BadPiece) -> [RecordDraft] {
        do throws(BadPoint) {
            let source = (try? JSONSource(object: text))?["properties"]
            return [RecordDraft(point: try PointDraft.point(feature: feature, source: source))]
        } catch {
            throw BadPiece(error.reason)
        }
    }
}
