import TrackingCore

/// Stands in until the codec of `TrackingCore` is merged; removed then.
enum LocationCodec {
    static func decodeFeature(_ bytes: some Collection<UInt8>) throws(TrackingError) -> Location {
        throw TrackingError(.invalidPayload, "Features cannot be read yet")
    }
}
