private import CCurl
import Synchronization
import TrackingCore
import TrackingRuntime

/// Runs the transfers of one ``HTTPClient`` on a thread of its own, which starts with the first transfer and ends after
/// ``close()``, or on the thread of a ``SocketLoop``.
///
/// `nonisolated(unsafe)`: only that thread uses `running`, `handles` and `deadline`, until it has ended or has forgotten
/// this object.
final class TransferLoop: Sendable {
    /// The instructions of other threads that the loop has not carried out yet.
    private struct Instructions {
        var begun: [Transfer] = []
        var cancelled: [Transfer] = []
        var isClosed = false
        var hasThread = false
    }

    private let instructions = Mutex(Instructions())
    private let host: (any SocketLoop)?
    /// libcurl's set of transfers, with its connections. Only the thread of the loop uses it, except for
    /// `godwit_curl_multi_wakeup`, which any thread may call.
    nonisolated(unsafe) private let multi: UnsafeMutableRawPointer?
    nonisolated(unsafe) private var running: [UnsafeMutableRawPointer: Transfer] = [:]
    nonisolated(unsafe) private var handles = TransferHandles()
    /// The time at which libcurl must be called; `nil` for no such time. Unused with a thread of the loop's own.
    nonisolated(unsafe) private var deadline: MonotonicTime?
    /// The reason for which libcurl cannot be used; `nil` if it was loaded.
    static let loadingError = godwit_curl_load().map { String(cString: $0) }

    init(connectionsPerHost: Int, on host: (any SocketLoop)?) {
        self.host = host
        self.multi = Self.loadingError == nil ? godwit_curl_multi_init(connectionsPerHost) : nil
        if host != nil { self.setWatchers() }
    }

    deinit {
        guard let multi = self.multi else { return }
        godwit_curl_multi_set_watchers(multi, nil, nil, nil)
        godwit_curl_multi_cleanup(multi)
    }

    // MARK: - Instructions of any thread

    /// Begins a transfer, whose result resumes the continuation once.
    func begin(
        _ transfer: Transfer,
        _ continuation: CheckedContinuation<Result<HTTPClient.Answer, HTTPClient.Failure>, Never>
    ) {
        transfer.expect(continuation)
        let isAccepted = self.instructions.withLock { instructions in
            guard self.multi != nil, !instructions.isClosed else { return false }
            if self.host == nil, !instructions.hasThread {
                instructions.hasThread = DetachedThread.start(stackSize: 1024 * 1024) { self.runOnThread() }
            }
            let isAccepted = self.host != nil || instructions.hasThread
            if isAccepted { instructions.begun.append(transfer) }
            return isAccepted
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

    private func wake() {
        if let host = self.host { return host.schedule(self) }
        if let multi = self.multi { godwit_curl_multi_wakeup(multi) }
    }

    // MARK: - The thread

    private func runOnThread() {
        guard let multi = self.multi else { return }
        while !self.followInstructions() {
            godwit_curl_multi_perform(multi)
            self.takeResults()
            godwit_curl_multi_poll(multi, 3_600_000)
        }
    }

    /// - Returns: `true` if the loop is closed, and all transfers have ended.
    private func followInstructions() -> Bool {
        let instructions = self.instructions.withLock { instructions in
            let taken = instructions
            instructions.begun = []
            instructions.cancelled = []
            return taken
        }
        for transfer in instructions.begun {
            guard !transfer.isCancelled, let handle = self.handles.take() else {
                transfer.fail(transfer.isCancelled ? "the request was cancelled" : "the system has no memory left")
                continue
            }
            transfer.begin(with: handle)
            if godwit_curl_multi_add_handle(self.multi, handle) == CURLM_OK {
                self.running[handle] = transfer
            } else {
                self.handles.release(handle, of: transfer) { transfer.fail("the system has no memory left") }
            }
        }
        for transfer in instructions.cancelled {
            // A cancellation can arrive before its transfer.
            transfer.isCancelled = true
            guard let handle = transfer.handle, self.running.removeValue(forKey: handle) != nil else { continue }
            godwit_curl_multi_remove_handle(self.multi, handle)
            self.handles.release(handle, of: transfer) { transfer.fail("the request was cancelled") }
        }
        if instructions.isClosed { self.endAll() }
        return instructions.isClosed
    }

    private func endAll() {
        for (handle, transfer) in self.running {
            godwit_curl_multi_remove_handle(self.multi, handle)
            self.handles.release(handle, of: transfer) { transfer.fail("the HTTP client was closed") }
        }
        self.running = [:]
    }

    private func takeResults() {
        var result = CURLE_OK
        while let handle = godwit_curl_multi_next_ended(self.multi, &result) {
            godwit_curl_multi_remove_handle(self.multi, handle)
            guard let transfer = self.running.removeValue(forKey: handle) else { continue }
            self.handles.release(handle, of: transfer) { transfer.end(result) }
        }
    }
}

// MARK: - The thread of a socket loop

extension TransferLoop: SocketLoopGuest {
    /// Lets libcurl report its sockets and its deadline. libcurl calls back only within a call of the loop's thread, and
    /// never after ``deinit``.
    private func setWatchers() {
        guard let multi = self.multi else { return }
        godwit_curl_multi_set_watchers(
            multi,
            { _, socket, action, context, _ in
                // The context is this object, which is retained while libcurl is called.
                Unmanaged<TransferLoop>.fromOpaque(context!).takeUnretainedValue().watch(socket, action)
                return 0
            },
            { _, milliseconds, context in
                Unmanaged<TransferLoop>.fromOpaque(context!).takeUnretainedValue().wait(for: milliseconds)
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func watch(_ socket: curl_socket_t, _ action: Int32) {
        let readiness: SocketReadiness =
            switch action {
            case CURL_POLL_IN: .read
            case CURL_POLL_OUT: .write
            case CURL_POLL_INOUT: [.read, .write]
            default: []
            }
        self.host?.watch(socket, for: readiness, of: self)
    }

    private func wait(for milliseconds: Int) {
        self.deadline = milliseconds < 0 ? nil : DeviceClock.now.advanced(by: .milliseconds(milliseconds))
    }

    func handle(_ descriptor: Int32, _ readiness: SocketReadiness) {
        var conditions: Int32 = 0
        if readiness.contains(.read) { conditions |= CURL_CSELECT_IN }
        if readiness.contains(.write) { conditions |= CURL_CSELECT_OUT }
        if readiness.contains(.failed) { conditions |= CURL_CSELECT_ERR }
        godwit_curl_multi_socket_action(self.multi, descriptor, conditions)
        self.takeResults()
    }

    func run(now: MonotonicTime) -> SocketLoopTurn {
        if self.followInstructions() { return .ended }
        // A new transfer has a deadline of now.
        if let deadline = self.deadline, deadline <= DeviceClock.now {
            self.deadline = nil
            godwit_curl_multi_socket_action(self.multi, CURL_SOCKET_BAD, 0)
        }
        self.takeResults()
        return .waiting(until: self.deadline)
    }
}
