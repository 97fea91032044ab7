/// A trackable's own resolutions for four cases: near its destination or far from it, with or without subscribers. Some
/// of them may be missing, but not all.
public struct ResolutionSet: Hashable, Sendable {
    /// The resolution while the trackable is far from its destination and has no subscriber; `nil` if not set.
    public let farWithoutSubscriber: Resolution?
    /// The resolution while the trackable is far from its destination and a subscriber is present; `nil` if not set.
    public let farWithSubscriber: Resolution?
    /// The resolution while the trackable is near its destination and has no subscriber; `nil` if not set.
    public let nearWithoutSubscriber: Resolution?
    /// The resolution while the trackable is near its destination and a subscriber is present; `nil` if not set.
    public let nearWithSubscriber: Resolution?

    /// Makes the set of a trackable's own resolutions: one to four, for being near or far, with or without subscribers.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when all four are `nil`.
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

    /// Makes a set that has the same resolution in all four cases: near the destination or far from it, with or without
    /// subscribers.
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
