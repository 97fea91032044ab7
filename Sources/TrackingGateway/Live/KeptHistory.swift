import Logging
import TrackingCore
import TrackingStore

/// What the history says of positions that the broker does not keep any more. Brokers lose what they keep, as the history does not;
/// where the history has nothing either, as after `godwit erase`, the position is not known any more.
struct KeptHistory: Sendable {
    private let history: (any HistoryStore)?
    private let logger: Logger

    /// - Parameter history: `nil` for none: then nothing is known.
    init(_ history: (any HistoryStore)?, logger: Logger) {
        self.history = history
        self.logger = logger
    }

    /// Those of these of which the history has no position; asks until it answers, or the task is cancelled.
    func gone(of ids: [TrackableID]) async -> Set<TrackableID> {
        guard let history = self.history, !ids.isEmpty else { return Set(ids) }
        var wait = Duration.seconds(1)
        while !Task.isCancelled {
            do throws(TrackingError) {
                return Set(ids).subtracting(try await history.lastPositions(of: ids).map(\.trackable))
            } catch {
                self.logger.warning("what was erased is not known yet", metadata: ["reason": "\(error.message)"])
                try? await Task.sleep(for: wait)
                wait = min(wait * 2, .seconds(30))
            }
        }
        return []
    }
}
