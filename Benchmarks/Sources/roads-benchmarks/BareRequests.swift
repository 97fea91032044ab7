import BenchmarkSupport
import Glibc
import Synchronization

/// Bare HTTP requests to the routing engine.
enum BareRequests {
    private final class Progress: Sendable {
        let times = Mutex<[Double]>([])
        let next = Atomic<Int>(0)
    }

    /// Sends requests from several threads, and returns their answer times in seconds.
    ///
    /// - Parameter rate: The number of requests a second; `nil` for the next one after each answer.
    static func run(_ bodies: [[UInt8]], port: Int, threads: Int, rate: Double?) throws -> [Double] {
        let progress = Progress()
        let start = secondsNow()
        try onThreads(threads) {
            let connection = try HTTPConnection(port: port)
            while case let index = progress.next.add(1, ordering: .relaxed).oldValue, index < bodies.count {
                var began = secondsNow()
                if let rate {
                    let due = start + Double(index) / rate
                    if due > began { usleep(UInt32((due - began) * 1e6)) }  // the pace of the requests
                    // A request that waits for a free connection waits for the engine.
                    began = due
                }
                _ = try connection.exchange("POST", "/trace_attributes", bodies[index])
                progress.times.withLock { $0.append(secondsNow() - began) }
            }
        }
        return progress.times.withLock { $0 }
    }
}
