private import CCurl
import Synchronization
import TrackingRuntime

/// The thread that runs the transfers of one ``HTTPClient``. It starts with the first transfer, and ends after
/// ``close()``.
final class TransferLoop: Sendable {
    /// The instructions of other threads that the loop has not carried out yet.
    private struct Instructions {
        var begun: [Transfer] = []
        var cancelled: [Transfer] = []
        var isClosed = false
        var hasThread = false
    }

    private let instructions = Mutex(Instructions())
    /// libcurl's set of transfers, with its connections. Only the thread of the loop uses it, except for
    /// `godwit_curl_multi_wakeup`, which any thread may call.
    nonisolated(unsafe) private let multi: UnsafeMutableRawPointer?
    /// The reason for which libcurl cannot be used; `nil` if it was loaded.
    static let loadingError = godwit_curl_load().map { String(cString: $0) }

    init(connectionsPerHost: Int) {
        self.multi = Self.loadingError == nil ? godwit_curl_multi_init(connectionsPerHost) : nil
    }

    deinit { if let multi = self.multi { godwit_curl_multi_cleanup(multi) } }

    // MARK: - Instructions of any thread

    /// Begins a transfer, whose result resumes the continuation once.
    func begin(
        _ transfer: Transfer,
        _ continuation: CheckedContinuation<Result<HTTPClient.Answer, HTTPClient.Failure>, Never>
    ) {
        transfer.expect(continuation)
        let isAccepted = self.instructions.withLock { instructions in
            guard self.multi != nil, !instructions.isClosed else { return false }
            if !instructions.hasThread {
                instructions.hasThread = DetachedThread.start(stackSize: 1024 * 1024) { self.run() }
            }
            if instructions.hasThread { instructions.begun.append(transfer) }
            return instructions.hasThread
        }
        guard isAccepted else {
            return transfer.fail(
                Self.loadingError ?? "the HTTP client is closed, or the system has no memory or no descriptors left")
        }
        self.wake()
    }

    /// Ends a transfer with a failure, if it has not ended yet.
    func cancel(_ transfer: Transfer) {
        self.instructions.withLock { $0.cancelled.append(transfer) }
        self.wake()
    }

    /// Ends all transfers with a failure, and the thread.
    func close() {
        self.instructions.withLock { $0.isClosed = true }
        self.wake()
    }

    private func wake() { if let multi = self.multi { godwit_curl_multi_wakeup(multi) } }

    // MARK: - The thread

    private func run() {
        guard let multi = self.multi else { return }
        var running: [UnsafeMutableRawPointer: Transfer] = [:]
        while true {
            let isClosed = self.followInstructions(&running)
            if isClosed {
                for (handle, transfer) in running {
                    godwit_curl_multi_remove_handle(multi, handle)
                    transfer.fail("the HTTP client was closed")
                }
                return
            }
            godwit_curl_multi_perform(multi)
            self.takeResults(multi, &running)
            godwit_curl_multi_poll(multi, 3_600_000)
        }
    }

    /// - Returns: `true` if the loop is closed.
    private func followInstructions(_ running: inout [UnsafeMutableRawPointer: Transfer]) -> Bool {
        let instructions = self.instructions.withLock { instructions in
            let taken = instructions
            instructions.begun = []
            instructions.cancelled = []
            return taken
        }
        for transfer in instructions.begun {
            guard !transfer.isCancelled, let handle = transfer.begin(),
                godwit_curl_multi_add_handle(self.multi, handle) == CURLM_OK
            else {
                transfer.fail(transfer.isCancelled ? "the request was cancelled" : "the system has no memory left")
                continue
            }
            running[handle] = transfer
        }
        for transfer in instructions.cancelled {
            // A cancellation can arrive before its transfer.
            transfer.isCancelled = true
            guard let handle = transfer.handle, running.removeValue(forKey: handle) != nil else { continue }
            godwit_curl_multi_remove_handle(self.multi, handle)
            transfer.fail("the request was cancelled")
        }
        return instructions.isClosed
    }

    private func takeResults(
        _ multi: UnsafeMutableRawPointer, _ running: inout [UnsafeMutableRawPointer: Transfer]
    ) {
        var result = CURLE_OK
        while let handle = godwit_curl_multi_next_ended(multi, &result) {
            godwit_curl_multi_remove_handle(multi, handle)
            running.removeValue(forKey: handle)?.end(result)
        }
    }
}
