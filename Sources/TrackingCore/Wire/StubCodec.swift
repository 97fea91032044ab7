public enum MessageCodec {
    public static func encode(_ v: Presence) -> [UInt8] { [] }
    public static func encode(_ v: Liveness) -> [UInt8] { [] }
    public static func encode(_ v: ResolutionRequest) -> [UInt8] { [] }
    public static func encode(_ v: ResolutionInForce) -> [UInt8] { [] }
    public static func encode(_ v: TrackingEvent) -> [UInt8] { [] }
    public static func decodePresence(_ b: ArraySlice<UInt8>) throws(TrackingError) -> Presence { throw TrackingError(.stopped, "") }
    public static func decodeLiveness(_ b: ArraySlice<UInt8>) throws(TrackingError) -> Liveness { throw TrackingError(.stopped, "") }
    public static func decodeRequest(_ b: ArraySlice<UInt8>) throws(TrackingError) -> ResolutionRequest { throw TrackingError(.stopped, "") }
    public static func decodeResolution(_ b: ArraySlice<UInt8>) throws(TrackingError) -> ResolutionInForce { throw TrackingError(.stopped, "") }
}
public enum LocationCodec {
    public static func encode(_ v: LocationUpdate) throws(TrackingError) -> [UInt8] { [] }
    public static func encodeRaw(_ v: LocationUpdate) throws(TrackingError) -> [UInt8] { [] }
    public static func decode(_ b: ArraySlice<UInt8>) throws(TrackingError) -> LocationUpdate { throw TrackingError(.stopped, "") }
}
