import TrackingCore
import TrackingHistory
package import TrackingPublisher

/// The content of one HTTP request of a phone or another client: records, and refused pieces.
package struct PhoneBatch: Hashable, Sendable {
    /// The records in the order in which they were sent. A position beside the batch and the trip under way are last.
    package var records: [RecordDraft] = []
    /// The refused pieces. They do not affect the rest of the batch.
    package var refused: [RefusedPiece] = []
    /// The number of values that were corrected in points, such as a battery charge in percent.
    package var corrections = 0
    /// A Boolean value that indicates whether a message of the request was encrypted and could be decrypted.
    package var isEncrypted = false

    /// The most records in one request.
    package static let maximumRecords = 10_000

    /// Makes a batch.
    package init(records: [RecordDraft] = [], refused: [RefusedPiece] = []) {
        self.records = records
        self.refused = refused
    }

    /// Adds the records of one piece of a request, or the refused piece with its reason.
    ///
    /// - Parameter read: Reads the piece, given its value and its source text.
    mutating func add(
        _ piece: ArraySlice<UInt8>, _ read: (JSONValue, ArraySlice<UInt8>) throws(BadPiece) -> [RecordDraft]
    ) {
        do throws(BadPiece) {
            let value: JSONValue
            do {
                value = try JSONValue(json: piece)
            } catch {
                throw BadPiece(error.message)
            }
            guard !LocationCodec.hasNullCoordinate(piece) else { throw BadPiece("one of its coordinates is null") }
            let records = try read(value, piece)
            self.records += records
            if value["_type"]?.text == "encrypted" { self.isEncrypted = true }
            guard case .point = records.first?.content else { return }
            self.corrections += PointDraft.corrections(in: value["properties"]?.object ?? [:])
        } catch {
            self.refused.append(RefusedPiece(reason: error.reason, bytes: piece))
        }
    }
}

/// A piece of a request that has no valid record.
package struct RefusedPiece: Hashable, Sendable {
    /// The reason, without coordinates.
    package let reason: String
    /// The received bytes of the piece, at most ``maximumBytes``.
    package let bytes: [UInt8]

    /// The most bytes of a piece that are stored.
    package static let maximumBytes = 4096

    /// Makes a refused piece.
    package init(reason: String, bytes: some Collection<UInt8>) {
        self.reason = reason
        self.bytes = Array(bytes.prefix(Self.maximumBytes))
    }
}

/// The error of a piece that has no valid record.
struct BadPiece: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
