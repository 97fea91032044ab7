/// The resolution at which the receiver itself runs, for all trackables of a publisher together.
public enum SensorResolution {
    /// The finest of the trackables' resolutions; `default` where there is none; `constant`, where given, in place of both.
    public static func finest(
        of resolutions: some Sequence<Resolution>, default: Resolution, constant: Resolution? = nil
    ) -> Resolution {
        if let constant { return constant }
        let finest = resolutions.reduce(nil as Resolution?) { $0?.finer(of: $1) ?? $1 }
        return finest ?? `default`
    }
}
