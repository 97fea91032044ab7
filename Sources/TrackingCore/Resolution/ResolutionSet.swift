/// A trackable's own resolutions: near its destination or far from it, watched or not. At least one is given.
public struct ResolutionSet: Hashable, Sendable {
    /// Far from the destination, nobody present.
    public let farWithoutSubscriber: Resolution?
    /// Far from the destination, somebody present.
    public let farWithSubscriber: Resolution?
    /// Near the destination, nobody present.
    public let nearWithoutSubscriber: Resolution?
    /// Near the destination, somebody present.
    public let nearWithSubscriber: Resolution?

    /// Makes a set of the members that are given.
    ///
    /// - Throws: `invalidConfiguration` when none is given.
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

    /// Makes a set in which one resolution stands for all four.
    public init(all resolution: Resolution) {
        self.farWithoutSubscriber = resolution
        self.farWithSubscriber = resolution
        self.nearWithoutSubscriber = resolution
        self.nearWithSubscriber = resolution
    }

    /// The member given for just this case; `nil` when it was left out.
    public func member(isNear: Bool, isWatched: Bool) -> Resolution? {
        switch (isNear, isWatched) {
        case (false, false): self.farWithoutSubscriber
        case (false, true): self.farWithSubscriber
        case (true, false): self.nearWithoutSubscriber
        case (true, true): self.nearWithSubscriber
        }
    }
}
