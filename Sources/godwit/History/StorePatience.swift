import GodwitOptions
import TrackingCore
import TrackingRuntime

/// Repeats operations that a history rejects for the moment, for example while another program writes, and reports the
/// wait.
enum StorePatience {
    /// The longest time to try: longer than PostgreSQL waits for a program that stands still.
    private static let limit = Duration.seconds(180)

    /// Runs `body` until it succeeds, fails with another error, or the time is over.
    ///
    /// - Parameters:
    ///   - passing: The errors after which `body` is tried again.
    ///   - body: The operation.
    /// - Throws: The errors of `body`; `CancellationError`.
    static func trying<Value>(
        _ passing: Set<TrackingError.Code>, _ body: () async throws(TrackingError) -> Value
    ) async throws -> Value {
        let end = DeviceClock.now.advanced(by: Self.limit)
        var isReported = false
        while true {
            do throws(TrackingError) {
                return try await body()
            } catch {
                guard passing.contains(error.code), DeviceClock.now < end else { throw error }
                if !isReported {
                    Program.note("history busy or unavailable, trying again for 3 minutes: \(error.message)\n")
                }
                isReported = true
            }
            try await Task.sleep(for: .seconds(1))
        }
    }
}
