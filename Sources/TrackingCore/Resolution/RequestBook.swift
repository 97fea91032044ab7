/// What the present subscribers of one trackable ask for, and the finest of it.
///
/// The finest is kept up to date member by member, so that one event among 10,000 subscribers costs about what it costs among
/// ten, and passing the book on copies nothing.
public struct RequestBook: Sendable {
    /// Each subscriber's request. Reading it is free; keeping it beyond a decision makes the next change copy it.
    public private(set) var requests: [SubscriberID: Resolution] = [:]
    /// How many ask for each accuracy, by rank.
    private var accuracies = [Int](repeating: 0, count: Resolution.Accuracy.allCases.count)
    private var intervals = MinMultiset<Duration>()
    private var displacements = MinMultiset<Meters>()

    /// Makes a book without requests.
    public init() {}

    /// How many requests there are.
    public var count: Int { self.requests.count }

    /// Whether nobody asks for anything.
    public var isEmpty: Bool { self.requests.isEmpty }

    /// The finest of all requests, member by member; `nil` when there is none.
    public var finest: Resolution? {
        guard let interval = self.intervals.min, let displacement = self.displacements.min,
            let rank = self.accuracies.lastIndex(where: { $0 > 0 })
        else { return nil }
        return Resolution(
            unchecked: Resolution.Accuracy.allCases[rank], milliseconds: interval.inMilliseconds,
            displacement: displacement)
    }

    /// What `subscriber` asks for; `nil` when it asks for nothing.
    public subscript(subscriber: SubscriberID) -> Resolution? { self.requests[subscriber] }

    /// Notes what `subscriber` asks for, in place of what it asked for before.
    public mutating func set(_ subscriber: SubscriberID, to resolution: Resolution) {
        if let previous = self.requests.updateValue(resolution, forKey: subscriber) {
            guard previous != resolution else { return }
            self.forget(previous)
        }
        self.accuracies[resolution.accuracy.rank] += 1
        self.intervals.insert(resolution.desiredInterval)
        self.displacements.insert(resolution.minimumDisplacement)
    }

    /// Drops the request of `subscriber` and returns it; `nil` when there was none.
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
    /// Two books are equal when the same subscribers ask for the same.
    public static func == (left: Self, right: Self) -> Bool { left.requests == right.requests }
}
