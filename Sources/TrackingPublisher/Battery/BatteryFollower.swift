/// Looks at a battery again and again and tells what changed.
struct BatteryFollower {
    /// What a look at the battery gave.
    enum Reading: Hashable {
        case percent(Double)
        /// There is no battery, and nothing wrong with that.
        case absent
        case failure(String)
    }

    private let name: String
    private var last: Reading?

    /// Makes a follower; `name` tells what is refused.
    init(name: String) { self.name = name }

    /// Reads at once and every `period` until the task is cancelled.
    mutating func follow(
        every period: Duration, _ deliver: @Sendable (BatteryEvent) async -> Void, _ read: () -> Reading
    ) async {
        while !Task.isCancelled {
            for event in self.looked(read()) { await deliver(event) }
            do { try await Task.sleep(for: period) } catch { return }
        }
    }

    /// What to tell after a look.
    mutating func looked(_ reading: Reading) -> [BatteryEvent] {
        guard reading != self.last else { return [] }
        let wasUnknown = self.isUnknown
        self.last = reading
        switch reading {
        case .percent(let percent): return [.level(percent)]
        case .absent: return wasUnknown ? [] : [.level(nil)]
        case .failure(let reason): return [.badInput("\(self.name) \(reason)")] + (wasUnknown ? [] : [.level(nil)])
        }
    }

    /// Whether unknown is what was told last.
    private var isUnknown: Bool {
        switch self.last {
        case .absent, .failure: true
        case .percent, nil: false
        }
    }
}
