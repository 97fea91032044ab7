import TrackingCore

/// Decodes any bytes. An accepted location is unchanged after encoding and decoding.
func fuzzLocation(_ bytes: [UInt8]) {
    if let update = try? LocationCodec.decode(bytes), let encoded = try? LocationCodec.encode(update),
        update.skipped.count <= LocationUpdate.maximumSkipped
    {
        precondition((try? LocationCodec.decode(encoded)) == update)
    }
    if let point = try? LocationCodec.decodeFeature(bytes) {
        precondition((try? LocationCodec.decodeFeature(LocationCodec.encodeFeature(point))) == point)
    }
}
