/// A trackable's own resolutions for four cases: near its destination or far from it, with or without subscribers. At
/// least one is given.
public struct ResolutionSet: Hashable, Sendable {
    /// The resolution far from the destination, without subscribers.
    public let farWithoutSubscriber: Resolution?
    /// The resolution far from the destination, with a subscriber present.
    public let farWithSubscriber: Resolution?
    /// The resolution near the destination, without subscribers.
    public let nearWithoutSubscriber: Resolution?
    /// The resolution near the destination, with a subscriber present.
    public let nearWithSubscriber: Resolution?

    /// Makes a set of one to four resolutions.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when all are `nil`.
    public init(
        farWithoutSubscriber: Resolution? = nil, farWithSubscriber: Resolution? = nil,
        nearWithoutSubscriber: Resolution? = nil, nearWithSubscriber: Resolution? = nil
    ) throws(TrackingError) {
        let members = [farWithoutSubscriber, farWithSubscriber, nearWithoutSubscriber, nearWithSubscriber]
        guard members.contains(where: { $0 != nil }) else {
            throw TrackingError(
                .invalidConfiguration,
                "a resolution set needs at least one of farWithoutSubscriber, farWithSubscriber, "
                    + "nearWithoutSubscriber and nearWithSubscriber")
        }
        self.farWithoutSubscriber = farWithoutSubscriber
        self.farWithSubscriber = farWithSubscriber
        self.nearWithoutSubscriber = nearWithoutSubscriber
        self.nearWithSubscriber = nearWithSubscriber
    }

    /// Makes a set with the same resolution near the destination and far from it, with and without subscribers.
    public init(all resolution: Resolution) {
        self.farWithoutSubscriber = resolution
        self.farWithSubscriber = resolution
        self.nearWithoutSubscriber = resolution
        self.nearWithSubscriber = resolution
    }

    /// Returns the resolution for a trackable near its destination or far from it, with or without subscribers; `nil`
    /// when the set has no resolution for this case.
    ///
    /// - Parameters:
    ///   - isNear: `true` while the trackable is near its destination.
    ///   - isWatched: `true` while at least one subscriber is present.
    public func member(isNear: Bool, isWatched: Bool) -> Resolution? {
        switch (isNear, isWatched) {
        case (false, false): self.farWithoutSubscriber
        case (false, true): self.farWithSubscriber
        case (true, false): self.nearWithoutSubscriber
        case (true, true): self.nearWithSubscriber
        }
    }
}
