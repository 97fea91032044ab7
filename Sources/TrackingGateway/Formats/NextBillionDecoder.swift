package import TrackingCore
import TrackingHistory
import TrackingPublisher

/// Decodes request bodies with NextBillion.ai's `LocationData`: a list of objects, a single object, or the body of
/// NextBillion.ai's REST interface, `{"locations": […]}`.
package enum NextBillionDecoder {
    /// Decodes the body of a request with `LocationData`.
    ///
    /// - Throws: `invalidPayload` if the body is not JSON or has none of the accepted forms; `payloadTooLarge` if it
    ///   has too many objects. An invalid object does not throw; it is added to ``PhoneBatch/refused``.
    package static func decode(_ body: [UInt8]) throws(TrackingError) -> PhoneBatch {
        let root = try JSONParts.value(of: body[...])
        let members = try JSONParts.members(of: root)
        var batch = PhoneBatch()
        if let list = try JSONParts.elements(of: members?["locations"] ?? root, limit: PhoneBatch.maximumRecords) {
            for element in list { batch.add(element, Self.record) }
        } else if members?["location"] != nil {
            batch.add(root, Self.record)
        } else {
            throw TrackingError(
                .invalidPayload,
                "the request's body has no LocationData: send a list of them, or {\"locations\": […]}")
        }
        return batch
    }

    private static func record(_ value: JSONValue, _ text: ArraySlice<UInt8>) throws(BadPiece) -> [RecordDraft] {
        do throws(BadPoint) {
            return [RecordDraft(point: try NextBillionPoint.location(value, source: try? JSONSource(object: text)))]
        } catch {
            throw BadPiece(error.reason)
        }
    }
}
