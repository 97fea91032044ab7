/// Reads the charge of a battery periodically, and reports each change of the charge and each new error.
struct BatteryFollower {
    /// The result of one reading of the battery: a charge in percent, no battery, or an error.
    enum Reading: Hashable {
        case percent(Double)
        /// The device has no battery, which is no error.
        case absent
        case failure(String)
    }

    private let name: String
    private var last: Reading?

    /// Creates a follower of a battery's charge. `name` identifies the battery in error messages.
    init(name: String) { self.name = name }

    /// Reads the battery by calling `read`, at once and then every `period`, until the task is cancelled. Passes each
    /// change of the charge, and each new error, to `deliver`.
    mutating func follow(
        every period: Duration, _ deliver: @Sendable (BatteryEvent) async -> Void, _ read: () -> Reading
    ) async {
        while !Task.isCancelled {
            for event in self.looked(read()) { await deliver(event) }
            do { try await Task.sleep(for: period) } catch { return }
        }
    }

    /// Compares a reading of the battery with the previous one, and returns the events to deliver; none if the reading
    /// is the same.
    mutating func looked(_ reading: Reading) -> [BatteryEvent] {
        guard reading != self.last else { return [] }
        let wasUnknown = self.isUnknown
        self.last = reading
        switch reading {
        case .percent(let percent): return [.level(percent)]
        case .absent: return wasUnknown ? [] : [.level(nil)]
        case .failure(let reason): return [.badInput("\(self.name): \(reason)")] + (wasUnknown ? [] : [.level(nil)])
        }
    }

    /// `true` when the last reading of the battery found no battery or an error, so that the charge is already reported
    /// as unknown. `false` before the first reading.
    private var isUnknown: Bool {
        switch self.last {
        case .absent, .failure: true
        case .percent, nil: false
        }
    }
}
