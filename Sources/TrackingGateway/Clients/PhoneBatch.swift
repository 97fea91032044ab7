import TrackingCore
import TrackingHistory
package import TrackingPublisher

/// What one request of a phone, or of anything else that speaks HTTP, says: records, and what of it is none.
package struct PhoneBatch: Hashable, Sendable {
    /// What is recorded, in the order in which it was sent; a position beside the batch, and the trip under way, last.
    package var records: [RecordDraft] = []
    /// What was refused. The rest of the batch is taken all the same.
    package var refused: [RefusedPiece] = []
    /// The number of values that a point has in corrected form: a battery's charge in percent.
    package var corrections = 0
    /// A Boolean value that indicates whether a message of the request was encrypted and could be read.
    package var isEncrypted = false

    /// The most records in one request.
    package static let maximumRecords = 10_000

    /// Makes a batch.
    package init(records: [RecordDraft] = [], refused: [RefusedPiece] = []) {
        self.records = records
        self.refused = refused
    }

    /// Adds the records of one piece of a request, or the piece itself with the reason of its refusal.
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

/// A piece of a request that is no record.
package struct RefusedPiece: Hashable, Sendable {
    /// Why; without a coordinate.
    package let reason: String
    /// The piece as it came, at most ``maximumBytes`` of it.
    package let bytes: [UInt8]

    /// The most bytes that are kept of a piece.
    package static let maximumBytes = 4096

    /// Makes one.
    package init(reason: String, bytes: some Collection<UInt8>) {
        self.reason = reason
        self.bytes = Array(bytes.prefix(Self.maximumBytes))
    }
}

/// Why a piece of a request is no record.
struct BadPiece: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
