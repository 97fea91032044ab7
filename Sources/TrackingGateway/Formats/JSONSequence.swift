import TrackingCore

extension JSONParts {
    /// The result of splitting a request's body: its JSON values, and its malformed pieces.
    struct Sequence {
        var texts: [ArraySlice<UInt8>] = []
        var broken: [RefusedPiece] = []
    }

    /// Splits a request's body into its JSON values. The values are separated by record separators (RFC 8142), or
    /// follow each other, for example one in each line.
    ///
    /// A malformed value is rejected on its own if separators or line ends show where the next value begins. Otherwise
    /// the whole body is rejected.
    ///
    /// - Throws: `invalidPayload` if the body is empty, or is rejected as a whole; `payloadTooLarge` if there are more
    ///   than `limit` values.
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
            // Accepts a body with one object in each line. Rejects a body whose single value spans several lines, even
            // if some of these lines are valid values.
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
    private static let empty = TrackingError(.invalidPayload, "the request's body is empty: send GeoJSON Features")
    private static let allBroken = TrackingError(
        .invalidPayload, "the request's body is not valid JSON: none of its values is complete")
}
