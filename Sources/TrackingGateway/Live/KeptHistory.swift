import Logging
import TrackingCore
import TrackingStore

/// Compares the positions of the gateway with the history, because a broker can lose its retained messages. A position
/// that the history does not have either, as after `godwit erase`, is no longer known.
struct KeptHistory: Sendable {
    private let history: (any HistoryStore)?
    private let logger: Logger

    /// - Parameter history: The history; `nil` if there is none, then no position is found in it.
    init(_ history: (any HistoryStore)?, logger: Logger = Logger(label: "godwit.live")) {
        self.history = history
        self.logger = logger
    }

    /// Returns the trackables that have no position in the history. Retries until the history answers or the task is
    /// cancelled.
    func gone(of ids: [TrackableID]) async -> Set<TrackableID> {
        guard let history = self.history, !ids.isEmpty else { return Set(ids) }
        let stored = await self.answer { () throws(TrackingError) in
            try await history.lastPositions(of: ids).map(\.trackable)
        }
        return stored.map { Set(ids).subtracting($0) } ?? []
    }

    /// Returns the trackables whose records of the given time have been erased. Retries as ``gone(of:)`` does.
    func erased(of known: [TrackableID: UnixTime]) async -> Set<TrackableID> {
        guard let history = self.history, !known.isEmpty else { return [] }
        return await self.answer { () throws(TrackingError) in
            // A trackable whose first record is as old as the given time was not erased. The few others are verified
            // one by one.
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
        var backoff = Backoff(first: .seconds(1), maximum: .seconds(30))
        while !Task.isCancelled {
            do throws(TrackingError) {
                return try await question()
            } catch {
                self.logger.warning("what was erased is not known yet", metadata: ["reason": "\(error.message)"])
                try? await Task.sleep(for: backoff.next())
            }
        }
        return nil
    }
}
