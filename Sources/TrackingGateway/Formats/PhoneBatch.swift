import TrackingCore
import TrackingHistory
package import TrackingPublisher

/// The contents of one HTTP request or OwnTracks message of a phone or another client: its records, and its invalid
/// pieces.
package struct PhoneBatch: Hashable, Sendable {
    /// The records in the order in which the phone sent them. An Overland request has its current position and present
    /// trip outside its list of positions; these come last.
    package var records: [RecordDraft] = []
    /// The invalid pieces of the request. They do not affect its valid records.
    package var refused: [RefusedPiece] = []
    /// The number of values in points that were corrected, such as a battery level that was given in percent.
    package var corrections = 0
    /// `true` if a message of the request was encrypted and could be decrypted.
    package var isEncrypted = false

    /// The largest number of records in one request.
    package static let maximumRecords = 10_000

    /// Creates the contents of a request from its records and its invalid pieces; by default, without any.
    package init(records: [RecordDraft] = [], refused: [RefusedPiece] = []) {
        self.records = records
        self.refused = refused
    }

    /// Decodes one piece of a request with `read`. Adds the piece's records to ``records``; adds an invalid piece to
    /// ``refused`` with the reason.
    ///
    /// - Parameters:
    ///   - piece: The source text of the piece.
    ///   - read: Returns the records of the piece, given its value and its source text.
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
            guard !LocationCodec.hasNullCoordinate(piece) else {
                throw BadPiece("one of the position's coordinates is null")
            }
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

/// A piece of a request (such as one Feature or message) that has no valid record.
package struct RefusedPiece: Hashable, Sendable {
    /// The reason for which the piece is invalid, without coordinates.
    package let reason: String
    /// The received bytes of the invalid piece, at most the first ``maximumBytes``.
    package let bytes: [UInt8]

    /// The largest number of bytes of an invalid piece that ``bytes`` contains and the quarantine stores.
    package static let maximumBytes = 4096

    /// Creates the entry of an invalid piece of a request, for the answer and the quarantine.
    ///
    /// - Parameters:
    ///   - reason: The reason for which the piece is invalid, without coordinates.
    ///   - bytes: The received bytes; only the first ``maximumBytes`` are stored.
    package init(reason: String, bytes: some Collection<UInt8>) {
        self.reason = reason
        self.bytes = Array(bytes.prefix(Self.maximumBytes))
    }
}

/// The error for a piece of a request without a valid record. Its reason is a phrase with a subject, such as "the
/// Feature has no properties".
struct BadPiece: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
