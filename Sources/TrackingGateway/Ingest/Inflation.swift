private import CZlib

/// Decompresses the bodies of HTTP requests with `Content-Encoding: gzip` or `deflate`, up to a size limit.
enum Inflation {
    /// The reason for which the body of a request cannot be decompressed.
    enum Failure: Error, Hashable {
        /// The decompressed content of the body exceeds the largest permitted number of bytes.
        case tooLarge
        /// The compressed data is damaged, incomplete or in another format.
        case damaged
    }

    /// Returns the decompressed content of `bytes`. Accepts gzip with any number of members, zlib, and deflate without
    /// a header, which some clients send as `deflate`.
    ///
    /// - Parameter limit: The largest number of bytes of decompressed content.
    static func inflate(_ bytes: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        guard inflateInit2_(&stream, self.windowBits(of: bytes), ZLIB_VERSION, size) == Z_OK else { throw .damaged }
        defer { inflateEnd(&stream) }
        var input = bytes
        var content: [UInt8] = []
        var failure: Failure?
        input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            failure = self.run(&stream, limit, &content)
        }
        if let failure { throw failure }
        return content
    }

    private static func run(_ stream: inout z_stream, _ limit: Int, _ content: inout [UInt8]) -> Failure? {
        let chunk = 65_536
        while true {
            // One byte more than the limit distinguishes content of exactly the limit from content that exceeds it.
            let room = min(chunk, limit + 1 - content.count)
            var status = Z_OK
            let piece = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                stream.next_out = buffer.baseAddress
                stream.avail_out = UInt32(room)
                status = CZlib.inflate(&stream, Z_NO_FLUSH)
                count = room - Int(stream.avail_out)
            }
            content += piece
            if content.count > limit { return .tooLarge }
            switch status {
            case Z_STREAM_END:
                if stream.avail_in == 0 { return nil }
                guard inflateReset(&stream) == Z_OK else { return .damaged }
            case Z_OK where !piece.isEmpty || stream.avail_in > 0: continue
            default: return .damaged
            }
        }
    }

    /// Returns zlib's parameter `windowBits` for the format of `bytes`: data with a header of zlib or gzip, or without
    /// a header.
    private static func windowBits(of bytes: [UInt8]) -> Int32 {
        guard bytes.count >= 2 else { return -15 }
        let isGzip = bytes[0] == 0x1F && bytes[1] == 0x8B
        let isZlib = bytes[0] & 0x0F == 8 && (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
        return isGzip || isZlib ? 15 + 32 : -15
    }
}
