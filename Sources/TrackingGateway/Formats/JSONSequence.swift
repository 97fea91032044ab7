import TrackingCore

extension JSONParts {
    /// The texts of a sequence, and its malformed pieces.
    struct Sequence {
        var texts: [ArraySlice<UInt8>] = []
        var broken: [RefusedPiece] = []
    }

    /// Splits a body into values: between record separators (RFC 8142) if there are any, otherwise one after the
    /// other. A malformed value is set aside alone if separators or line ends show the beginning of the next value.
    ///
    /// - Throws: `invalidPayload` if no value is valid; `payloadTooLarge` if there are more than `limit` values.
    static func sequence(_ body: ArraySlice<UInt8>, limit: Int) throws(TrackingError) -> Sequence {
        if body.contains(Self.separator) {
            let sequence = try Self.sequence(of: body.split(separator: Self.separator), limit: limit)
            guard !sequence.texts.isEmpty else { throw sequence.broken.isEmpty ? Self.empty : Self.allBroken }
            return sequence
        }
        do throws(TrackingError) {
            let texts = try self.values(of: body, limit: limit)
            guard !texts.isEmpty else { throw Self.empty }
            return Sequence(texts: texts)
        } catch {
            guard error.code == .invalidPayload else { throw error }
            // Accept one object a line. Reject a single text over several lines, some of which are values by
            // themselves.
            let lines = try Self.sequence(of: body.split(separator: UInt8(ascii: "\n")), limit: limit)
            guard !lines.texts.isEmpty, lines.texts.count >= lines.broken.count,
                lines.texts.allSatisfy({ $0.first == UInt8(ascii: "{") })
            else { throw error }
            return lines
        }
    }

    private static func sequence(of pieces: [ArraySlice<UInt8>], limit: Int) throws(TrackingError) -> Sequence {
        var sequence = Sequence()
        for piece in pieces where piece.contains(where: { $0 > 0x20 }) {
            do throws(TrackingError) {
                sequence.texts += try self.values(of: piece, limit: limit)
            } catch {
                sequence.broken.append(RefusedPiece(reason: error.message, bytes: piece))
            }
            guard sequence.texts.count + sequence.broken.count <= limit else { throw self.tooMany(limit) }
        }
        return sequence
    }

    private static let separator: UInt8 = 0x1E
    private static let empty = TrackingError(.invalidPayload, "the body is empty; it has GeoJSON Features")
    private static let allBroken = TrackingError(.invalidPayload, "the body is not JSON: none of its texts is whole")
}
