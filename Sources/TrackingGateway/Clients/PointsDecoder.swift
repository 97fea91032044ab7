package import TrackingCore
import TrackingHistory
import TrackingPublisher

/// Reads this project's own GeoJSON: a Feature, a FeatureCollection, a list, or any number of either one after the other, be it
/// one a line or a text sequence (RFC 8142). Names of properties are read as in an import (`docs/history.md`).
package enum PointsDecoder {
    /// Reads a request's body.
    ///
    /// - Throws: `invalidPayload` where the body is not JSON or empty, `payloadTooLarge` where it holds too many Features.
    ///   Whatever is wrong with a single Feature, or with one text of a sequence, is among ``PhoneBatch/refused``.
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
