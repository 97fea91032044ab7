/// The calculation of the resolution that a publisher requests from its position receiver. All trackables of the
/// publisher share that receiver.
public enum SensorResolution {
    /// Returns the resolution to request from the position receiver.
    ///
    /// - Parameters:
    ///   - resolutions: The resolutions of the publisher's trackables. The result is their finest combination: the
    ///     highest accuracy, the shortest interval and the shortest displacement.
    ///   - default: The result when there are no trackables.
    ///   - constant: A fixed result that takes precedence over both; `nil` for none.
    public static func finest(
        of resolutions: some Sequence<Resolution>, default: Resolution, constant: Resolution? = nil
    ) -> Resolution {
        if let constant { return constant }
        let finest = resolutions.reduce(nil as Resolution?) { $0?.finer(of: $1) ?? $1 }
        return finest ?? `default`
    }
}
