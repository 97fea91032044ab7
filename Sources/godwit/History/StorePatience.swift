import GodwitOptions
import TrackingCore

/// Tries again what a history does not take now, as while another program writes, and says so.
enum StorePatience {
    /// So long it is tried: longer than PostgreSQL waits for a program that stands still.
    private static let limit = Duration.seconds(180)

    /// Does `body` until it succeeds or fails otherwise, or the time is over.
    ///
    /// - Parameter passing: The errors that pass.
    /// - Throws: What `body` throws, and `CancellationError`.
    static func trying<Value>(
        _ passing: Set<TrackingError.Code>, _ body: () async throws(TrackingError) -> Value
    ) async throws -> Value {
        let end = ContinuousClock.now + Self.limit
        var isTold = false
        while true {
            do throws(TrackingError) {
                return try await body()
            } catch {
                guard passing.contains(error.code), ContinuousClock.now < end else { throw error }
                if !isTold {
                    Program.note("the history takes nothing now, and is tried again for a while: \(error.message)\n")
                }
                isTold = true
            }
            try await Task.sleep(for: .seconds(1))
        }
    }
}
