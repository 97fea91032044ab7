/// A check of Mapbox vector tiles, which are sequences of layers in Protocol Buffers.
enum VectorTile {
    /// The media type of vector tiles.
    static let mediaType = "application/vnd.mapbox-vector-tile"

    /// The field of a layer in the message of a tile: number 3, with a length.
    private static let layer: UInt8 = 0x1A

    /// Returns `true` if `bytes` are a sequence of whole layers. The contents of the layers are not checked. A tile may
    /// be empty.
    static func isWhole(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while let field = rest.popFirst() {
            guard field == self.layer, let length = self.length(from: &rest), length <= rest.count else { return false }
            rest = rest.dropFirst(length)
        }
        return true
    }

    /// Reads a length of at most 35 bits; `nil` if it is longer or cut.
    private static func length(from rest: inout ArraySlice<UInt8>) -> Int? {
        var length = 0
        for shift in stride(from: 0, to: 35, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            length |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return length }
        }
        return nil
    }
}
