private import SystemLibrary
private import Synchronization
package import TrackingCore

/// The thread that waits for files, sockets and deadlines on behalf of all tasks that read. No such task blocks a
/// thread of the cooperative pool. The thread starts with the first wait, and sleeps in the system call `poll` between
/// events.
package final class Poller: Sendable {
    /// The only poller of this process, which all tasks use.
    package static let shared = Poller()

    /// The condition for which a task waits: a ready descriptor, a deadline, or both.
    package struct Interest: Sendable {
        /// The descriptor of the file or socket whose readiness the task waits for; `nil` to wait for the deadline
        /// alone.
        package var descriptor: Int32?
        /// `true` to wait until the descriptor can be written; `false` until it can be read.
        package var isWriting = false
        /// The time at which the task stops waiting even if the descriptor is not ready; `nil` for no limit.
        package var deadline: MonotonicTime?

        package init(descriptor: Int32? = nil, isWriting: Bool = false, deadline: MonotonicTime? = nil) {
            self.descriptor = descriptor
            self.isWriting = isWriting
            self.deadline = deadline
        }
    }

    private struct Entry {
        var interest: Interest
        var waiter: Waiter
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var lastID: UInt64 = 0
        /// The two ends of the pipe by which the poller's thread is woken from the system call `poll`; `nil` until that
        /// thread runs.
        var pipe: (read: Int32, write: Int32)?
    }

    private let state = Mutex(State())

    /// Waits for a condition on the poller's thread. Signals `waiter` once when the descriptor is ready or the deadline
    /// passes.
    ///
    /// - Returns: The number with which ``disarm(_:)`` cancels the wait.
    package func arm(_ interest: Interest, _ waiter: Waiter) -> UInt64 {
        let id = self.state.withLock { state -> UInt64 in
            if state.pipe == nil { state.pipe = self.start() }
            state.lastID += 1
            state.entries[state.lastID] = Entry(interest: interest, waiter: waiter)
            return state.lastID
        }
        self.interrupt()
        return id
    }

    /// Cancels the wait with the number that ``arm(_:_:)`` returned, and returns at once. The poller's thread may use
    /// the descriptor for a moment longer.
    package func disarm(_ id: UInt64) {
        if self.state.withLock({ $0.entries.removeValue(forKey: id) }) != nil { self.interrupt() }
    }

    private func interrupt() {
        guard let pipe = self.state.withLock({ $0.pipe }) else { return }
        // A full pipe interrupts `poll` just as well.
        _ = write(pipe.write, [1], 1)
    }

    /// Starts the thread and its pipe. A failure stops the program, because without descriptors or threads nothing
    /// could be read.
    ///
    /// - Returns: The two ends of the pipe that interrupts `poll`.
    private func start() -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { fatalError("no pipe: \(SystemError.text(errno))") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let interrupter = (read: ends[0], write: ends[1])
        guard DetachedThread.start({ self.loop(interruptedBy: interrupter.read) }) else {
            fatalError("cannot start the thread that waits for files: the system has no thread left")
        }
        return interrupter
    }

    private func loop(interruptedBy pipe: Int32) {
        var drain = [UInt8](repeating: 0, count: 64)
        while true {
            var (ids, polled, timeout) = self.snapshot(pipe)
            _ = poll(&polled, nfds_t(polled.count), timeout)
            if polled[0].revents != 0 { while read(pipe, &drain, drain.count) > 0 {} }
            self.wake(ids, polled)
        }
    }

    /// Returns the arguments of the next `poll` call: the descriptors of all waits, and the timeout in milliseconds.
    /// Also returns the numbers of the waits, in the same order. The first descriptor is the pipe, which belongs to no
    /// wait.
    private func snapshot(_ pipe: Int32) -> (ids: [UInt64], polled: [pollfd], timeout: Int32) {
        self.state.withLock { state in
            var ids: [UInt64] = []
            var polled = [pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)]
            for (id, entry) in state.entries {
                guard let descriptor = entry.interest.descriptor else { continue }
                ids.append(id)
                polled.append(
                    pollfd(fd: descriptor, events: Int16(entry.interest.isWriting ? POLLOUT : POLLIN), revents: 0))
            }
            guard let earliest = state.entries.values.compactMap(\.interest.deadline).min() else {
                return (ids, polled, -1)
            }
            // Rounded up, because `poll` would otherwise spin through the last millisecond.
            let milliseconds = DeviceClock.now.duration(to: earliest).inMilliseconds + 1
            return (ids, polled, Int32(clamping: max(0, milliseconds)))
        }
    }

    private func wake(_ ids: [UInt64], _ polled: [pollfd]) {
        let ready = Set(zip(ids, polled.dropFirst()).filter { $0.1.revents != 0 }.map(\.0))
        let now = DeviceClock.now
        let woken = self.state.withLock { state -> [(Waiter, Wake)] in
            var woken: [(Waiter, Wake)] = []
            for (id, entry) in state.entries {
                let isLate = entry.interest.deadline.map { $0 <= now } ?? false
                guard ready.contains(id) || isLate else { continue }
                state.entries[id] = nil
                woken.append((entry.waiter, ready.contains(id) ? .ready : .deadline))
            }
            return woken
        }
        for (waiter, wake) in woken { waiter.signal(wake) }
    }
}
