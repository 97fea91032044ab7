import TrackingCore

extension JSONParts {
    /// Texts one after the other, and what of them is broken.
    struct Sequence {
        var texts: [ArraySlice<UInt8>] = []
        var broken: [RefusedPiece] = []
    }

    /// The values of a sequence: between record separators (RFC 8142) where there are any, else one after the other. One that is
    /// broken costs itself, where separators or line ends show where the next begins.
    ///
    /// - Throws: `invalidPayload` where nothing is whole; `payloadTooLarge` where there are more than `limit`.
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
            // An object a line; and not one text over several lines, some of which are values by themselves.
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
