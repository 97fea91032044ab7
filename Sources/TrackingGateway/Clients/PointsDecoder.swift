package import TrackingCore
import TrackingHistory
import TrackingPublisher

/// Reads this project's own GeoJSON: a Feature, a FeatureCollection, a list, or any number of either one after the other, be it
/// one a line or a text sequence (RFC 8142). Names of properties are read as in an import (`docs/history.md`).
package enum PointsDecoder {
    /// Reads a request's body.
    ///
    /// - Throws: `invalidPayload` where the body is not JSON or empty, `payloadTooLarge` where it holds too many Features.
    ///   Whatever is wrong with a single Feature is among ``PhoneBatch/refused``.
    package static func decode(_ body: [UInt8]) throws(TrackingError) -> PhoneBatch {
        let limit = PhoneBatch.maximumRecords
        let texts = try JSONParts.values(of: body[...], limit: limit)
        guard !texts.isEmpty else { throw TrackingError(.invalidPayload, "the body is empty; it has GeoJSON Features") }
        var features: [ArraySlice<UInt8>] = []
        for text in texts {
            let list = try JSONParts.members(of: text)?["features"] ?? text
            features += try JSONParts.elements(of: list, limit: limit) ?? [text]
            guard features.count <= limit else {
                throw TrackingError(.payloadTooLarge, "a request has at most \(limit) records; send fewer at a time")
            }
        }
        var batch = PhoneBatch()
        for feature in features {
            // What is already as the protocol has it is read without a tree of values.
            if let location = try? LocationCodec.decodeFeature(feature) {
                batch.records.append(RecordDraft(point: location.withoutName))
            } else {
                batch.add(feature, Self.record)
            }
        }
        return batch
    }

    private static func record(_ feature: JSONValue) throws(BadPiece) -> [RecordDraft] {
        do throws(BadPoint) {
            return [RecordDraft(point: try PointDraft.point(feature: feature))]
        } catch {
            throw BadPiece(error.reason)
        }
    }
}

extension Location {
    /// The fix without the name that it has somewhere else.
    fileprivate var withoutName: Location {
        var location = self
        location.seq = nil
        location.stream = nil
        return location
    }
}
