import Logging
import TrackingCore
import TrackingStore

/// A comparison of the live positions with the history, after the gateway was disconnected from the broker. It finds
/// trackables without a position in the history, and trackables whose position was erased from the history.
struct KeptHistory: Sendable {
    private let history: (any HistoryStore)?
    private let logger: Logger

    /// Creates the comparison of live positions with a history.
    ///
    /// - Parameter history: The history; `nil` if there is none. Without a history no position counts as stored.
    init(_ history: (any HistoryStore)?, logger: Logger = Logger(label: "godwit.live")) {
        self.history = history
        self.logger = logger
    }

    /// Returns the trackables among `ids` that have no position in the history. Tries again until the history answers
    /// or the task is cancelled.
    func gone(of ids: [TrackableID]) async -> Set<TrackableID> {
        guard let history = self.history, !ids.isEmpty else { return Set(ids) }
        let stored = await self.answer { () throws(TrackingError) in
            try await history.lastPositions(of: ids).map(\.trackable)
        }
        return stored.map { Set(ids).subtracting($0) } ?? []
    }

    /// Returns the trackables that have a position in the history; none without a history. Tries again until the history
    /// answers or the task is cancelled.
    func located() async -> [TrackableID] {
        guard let history = self.history else { return [] }
        return await self.answer { () throws(TrackingError) in
            try await history.lastPositions(of: nil).map(\.trackable)
        } ?? []
    }

    /// Returns the trackables whose record of the given time has been erased from the history. Tries again until the
    /// history answers or the task is cancelled.
    ///
    /// - Parameter known: For each trackable, the time of the record.
    func erased(of known: [TrackableID: UnixTime]) async -> Set<TrackableID> {
        guard let history = self.history, !known.isEmpty else { return [] }
        return await self.answer { () throws(TrackingError) in
            // If the first record of a trackable is as old as the given time, no record of that time was erased. The
            // few other trackables are verified one by one.
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
        var level = Logger.Level.warning
        while !Task.isCancelled {
            do throws(TrackingError) {
                return try await question()
            } catch {
                self.logger.log(
                    level: level,
                    "Gateway could not read the history to check its live positions: it may show erased positions until it succeeds, and tries again",
                    metadata: ["reason": "\(error.message)"])
                level = .debug
                try? await Task.sleep(for: backoff.next())
            }
        }
        return nil
    }
}
