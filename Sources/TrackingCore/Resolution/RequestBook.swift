/// The resolution requests of one trackable's subscribers, and the finest combination of them.
///
/// The finest combination takes the highest accuracy, the shortest interval and the shortest displacement of all
/// requests. It is updated with each change. A change therefore costs about as much among 10,000 subscribers as among
/// ten.
public struct RequestBook: Sendable {
    /// The requested resolution of each subscriber. A copy of this dictionary that is held during a change makes the
    /// change slow, because the whole dictionary is then copied.
    public private(set) var requests: [SubscriberID: Resolution] = [:]
    /// The number of requests for each accuracy. The index is the rank of the accuracy, 0 for the coarsest.
    private var accuracies = [Int](repeating: 0, count: Resolution.Accuracy.allCases.count)
    private var intervals = MinMultiset<Duration>()
    private var displacements = MinMultiset<Meters>()

    /// Makes the book of a trackable's resolution requests, without any request.
    public init() {}

    /// The number of the trackable's subscribers that have a resolution request.
    public var count: Int { self.requests.count }

    /// `true` when no subscriber has a resolution request.
    public var isEmpty: Bool { self.requests.isEmpty }

    /// The finest combination of all requests: the highest accuracy, the shortest interval and the shortest
    /// displacement. `nil` when there are no requests.
    public var finest: Resolution? {
        guard let interval = self.intervals.min, let displacement = self.displacements.min,
            let rank = self.accuracies.lastIndex(where: { $0 > 0 })
        else { return nil }
        return Resolution(
            unchecked: Resolution.Accuracy.allCases[rank], milliseconds: interval.inMilliseconds,
            displacement: displacement)
    }

    /// The resolution that `subscriber` requests; `nil` when the subscriber has no request.
    public subscript(subscriber: SubscriberID) -> Resolution? { self.requests[subscriber] }

    /// Sets the resolution that `subscriber` requests, and replaces the subscriber's previous request.
    public mutating func set(_ subscriber: SubscriberID, to resolution: Resolution) {
        if let previous = self.requests.updateValue(resolution, forKey: subscriber) {
            guard previous != resolution else { return }
            self.forget(previous)
        }
        self.accuracies[resolution.accuracy.rank] += 1
        self.intervals.insert(resolution.desiredInterval)
        self.displacements.insert(resolution.minimumDisplacement)
    }

    /// Removes the resolution request of `subscriber` and returns it. Returns `nil` when the subscriber had no request.
    @discardableResult
    public mutating func remove(_ subscriber: SubscriberID) -> Resolution? {
        guard let previous = self.requests.removeValue(forKey: subscriber) else { return nil }
        self.forget(previous)
        return previous
    }

    private mutating func forget(_ resolution: Resolution) {
        self.accuracies[resolution.accuracy.rank] -= 1
        self.intervals.remove(resolution.desiredInterval)
        self.displacements.remove(resolution.minimumDisplacement)
    }
}

extension RequestBook: Equatable {
    /// Returns `true` when both collections contain the same subscribers with equal resolution requests.
    public static func == (left: Self, right: Self) -> Bool { left.requests == right.requests }
}
