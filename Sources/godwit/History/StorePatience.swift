import GodwitOptions
import TrackingCore
import TrackingRuntime

/// Repeats an operation on the history for up to 3 minutes while it fails temporarily, for example because another
/// program writes. Then the last error is thrown. Reports the wait to the user once.
enum StorePatience {
    /// The longest time for which an operation is repeated. It is longer than the 120 s after which PostgreSQL ends the
    /// transaction of a program that no longer responds.
    private static let limit = Duration.seconds(180)

    /// Runs `body` again and again, until it succeeds, fails with an error that is not in `passing`, or 180 s have
    /// passed.
    ///
    /// - Parameters:
    ///   - passing: The codes of temporary errors, after which `body` is tried again.
    ///   - body: The operation on the history.
    /// - Throws: The last error of `body`; `CancellationError` if the task is cancelled.
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
                    Program.note(
                        "the history is busy or cannot be reached; the program tries again for 3 minutes: \(error.message)\n"
                    )
                }
                isReported = true
            }
            try await Task.sleep(for: .seconds(1))
        }
    }
}
