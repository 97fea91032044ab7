/// Decoding takes any bytes; what it accepts, encoding and decoding gives back.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLocation(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    if let update = try? LocationCodec.decode(bytes), let encoded = try? LocationCodec.encode(update),
        update.skipped.count <= LocationUpdate.maximumSkipped
    {
        precondition((try? LocationCodec.decode(encoded)) == update)
    }
    if let point = try? LocationCodec.decodeFeature(bytes) {
        precondition((try? LocationCodec.decodeFeature(LocationCodec.encodeFeature(point))) == point)
    }
    return 0
}
