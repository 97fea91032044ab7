/// The resolution that a publisher requests from its receiver. All trackables of the publisher share the receiver.
public enum SensorResolution {
    /// Returns the resolution for the receiver.
    ///
    /// - Parameters:
    ///   - resolutions: The trackables' resolutions; the result is the finest of them, member by member.
    ///   - default: The result without trackables.
    ///   - constant: The result whenever it is given, in place of the others.
    public static func finest(
        of resolutions: some Sequence<Resolution>, default: Resolution, constant: Resolution? = nil
    ) -> Resolution {
        if let constant { return constant }
        let finest = resolutions.reduce(nil as Resolution?) { $0?.finer(of: $1) ?? $1 }
        return finest ?? `default`
    }
}
