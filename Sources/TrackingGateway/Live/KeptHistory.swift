import Logging
import TrackingCore
import TrackingStore

/// What the history says of positions that the broker does not keep any more. Brokers lose what they keep, as the history does not;
/// where the history has nothing either, as after `godwit erase`, the position is not known any more.
struct KeptHistory: Sendable {
    private let history: (any HistoryStore)?
    private let logger: Logger

    /// - Parameter history: `nil` for none: then nothing is known.
    init(_ history: (any HistoryStore)?, logger: Logger = Logger(label: "godwit.live")) {
        self.history = history
        self.logger = logger
    }

    /// Those of these of which the history has no position; asks until it answers, or the task is cancelled.
    func gone(of ids: [TrackableID]) async -> Set<TrackableID> {
        guard let history = self.history, !ids.isEmpty else { return Set(ids) }
        let stored = await self.answer { () throws(TrackingError) in
            try await history.lastPositions(of: ids).map(\.trackable)
        }
        return stored.map { Set(ids).subtracting($0) } ?? []
    }

    /// Those of which what was known at a time is erased since; asks as ``gone(of:)`` does.
    func erased(of known: [TrackableID: UnixTime]) async -> Set<TrackableID> {
        guard let history = self.history, !known.isEmpty else { return [] }
        return await self.answer { () throws(TrackingError) in
            // Of whom the history has what is as old nothing of that time was erased; few are left to be looked up one by one.
            let summaries = try await history.summaries(of: Array(known.keys))
            let whole = summaries.filter { summary in
                summary.first.map { first in known[summary.id].map { first <= $0 } ?? true } ?? false
            }
            var erased: Set<TrackableID> = []
            for id in Set(known.keys).subtracting(whole.map(\.id)) {
                guard let limit = try await history.verify(id)?.erasedBefore, let time = known[id] else { continue }
                if time < limit { erased.insert(id) }
            }
            return erased
        } ?? []
    }

    private func answer<Value>(_ question: () async throws(TrackingError) -> Value) async -> Value? {
        var wait = Duration.seconds(1)
        while !Task.isCancelled {
            do throws(TrackingError) {
                return try await question()
            } catch {
                self.logger.warning("what was erased is not known yet", metadata: ["reason": "\(error.message)"])
                try? await Task.sleep(for: wait)
                wait = min(wait * 2, .seconds(30))
            }
        }
        return nil
    }
}
