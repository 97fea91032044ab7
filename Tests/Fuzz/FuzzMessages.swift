import TrackingCore

/// Each cold message: what decoding accepts, encoding and decoding gives back.
func fuzzMessages(_ bytes: [UInt8]) {
    if let value = try? MessageCodec.decodeRequest(bytes) {
        precondition((try? MessageCodec.decodeRequest(MessageCodec.encode(value))) == value)
    }
    if let value = try? MessageCodec.decodeResolution(bytes) {
        precondition((try? MessageCodec.decodeResolution(MessageCodec.encode(value))) == value)
    }
    if let value = try? MessageCodec.decodeLiveness(bytes) { _ = MessageCodec.encode(value) }
    if let value = try? MessageCodec.decodePresence(bytes) { _ = MessageCodec.encode(value) }
    if let value = try? MessageCodec.decodeEvent(bytes) { _ = MessageCodec.encode(value) }
}
