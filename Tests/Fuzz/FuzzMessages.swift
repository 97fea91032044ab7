/// Each cold message: what decoding accepts, encoding and decoding gives back.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMessages(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    if let value = try? MessageCodec.decodeRequest(bytes) {
        precondition((try? MessageCodec.decodeRequest(MessageCodec.encode(value))) == value)
    }
    if let value = try? MessageCodec.decodeResolution(bytes) {
        precondition((try? MessageCodec.decodeResolution(MessageCodec.encode(value))) == value)
    }
    if let value = try? MessageCodec.decodeLiveness(bytes) { _ = MessageCodec.encode(value) }
    if let value = try? MessageCodec.decodePresence(bytes) { _ = MessageCodec.encode(value) }
    if let value = try? MessageCodec.decodeEvent(bytes) { _ = MessageCodec.encode(value) }
    return 0
}
