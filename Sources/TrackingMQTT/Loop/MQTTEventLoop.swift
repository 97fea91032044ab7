import Glibc
import Synchronization
import TrackingCore

/// One thread that drives any number of connections, and the executor of their actors.
///
/// A process needs one, ``shared``; whoever wants to keep groups of connections apart makes more. A loop lives until
/// ``shutdown()``.
///
/// `@unchecked`: `channels`, `timers` and the two lists are touched on the loop's own thread alone; everything else is
/// immutable or behind a `Mutex`.
public final class MQTTEventLoop: SerialExecutor, @unchecked Sendable {
    /// The loop of everyone who asks for no other.
    public static let shared = MQTTEventLoop(name: "mqtt")

    private struct Inbox {
        var jobs: [UnownedJob] = []
        var calls: [@Sendable () -> Void] = []
        var keys: [Int] = []
        var isAsleep = false
        var isStopped = false

        var isEmpty: Bool { self.jobs.isEmpty && self.calls.isEmpty && self.keys.isEmpty && !self.isStopped }
    }

    private struct Channel {
        let connection: MQTTConnection
        var readiness = Poller.Readiness()
        var isDue = false
    }

    let poller = Poller()
    private let inbox = Mutex(Inbox())
    private let thread = Atomic<UInt>(0)

    private var channels: [Channel?] = []
    private var freeKeys: [Int] = []
    private var timers = DeadlineQueue<Int>()
    private var due: [Int] = []

    /// Starts a loop on a thread of its own.
    ///
    /// - Parameter name: What the thread is called in a debugger: at most 15 bytes.
    public init(name: String) {
        MosquittoLibrary.load()
        let isStarted = DetachedThread.start(name: name) { self.run() }
        precondition(isStarted, "the system has no thread left for an event loop")
    }

    /// Ends the thread once it has done what was asked before. No connection may use the loop afterwards.
    public func shutdown() {
        self.post { $0.isStopped = true }
    }

    /// Runs an actor's job on the loop's thread; called by Swift.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.post { $0.jobs.append(job) }
    }

    /// Stops the program where the caller is not on the loop's thread; called by Swift.
    public func checkIsolated() {
        precondition(self.isOnThread, "this runs on the thread of its event loop alone")
    }

    /// Runs `body` on the loop's thread, soon.
    func call(_ body: @escaping @Sendable () -> Void) {
        self.post { $0.calls.append(body) }
    }

    /// Has the connection with this key looked at in the next pass. From any thread.
    func wake(_ key: Int) {
        self.post { $0.keys.append(key) }
    }

    private var isOnThread: Bool { self.thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    private func post(_ body: (inout Inbox) -> Void) {
        let mustWake = self.inbox.withLock { inbox in
            body(&inbox)
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if mustWake { self.poller.wake() }
    }

    // MARK: - On the loop's thread

    /// Takes a connection in and looks at it in the next pass.
    func attach(_ connection: MQTTConnection) -> Int {
        let key = self.freeKeys.popLast() ?? self.channels.endIndex
        if key == self.channels.endIndex { self.channels.append(nil) }
        self.channels[key] = Channel(connection: connection)
        self.wake(key)
        return key
    }

    func detach(_ key: Int) {
        self.channels[key] = nil
        self.timers.remove(key)
        self.freeKeys.append(key)
    }

    private func run() {
        self.thread.store(UInt(pthread_self()), ordering: .relaxed)
        var jobs: [UnownedJob] = []
        var calls: [@Sendable () -> Void] = []
        var keys: [Int] = []
        while true {
            let isWorkWaiting = self.inbox.withLock { inbox in
                inbox.isAsleep = inbox.isEmpty
                return !inbox.isAsleep
            }
            self.wait(isWorkWaiting: isWorkWaiting)
            let isStopped = self.inbox.withLock { inbox in
                swap(&jobs, &inbox.jobs)
                swap(&calls, &inbox.calls)
                swap(&keys, &inbox.keys)
                inbox.isAsleep = false
                return inbox.isStopped
            }
            for key in keys { self.markDue(key, []) }
            for job in jobs { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
            for call in calls { call() }
            jobs.removeAll(keepingCapacity: true)
            calls.removeAll(keepingCapacity: true)
            keys.removeAll(keepingCapacity: true)
            self.serviceDue()
            if isStopped { return }
        }
    }

    private func wait(isWorkWaiting: Bool) {
        let limit: Duration? =
            isWorkWaiting ? .zero : self.timers.next.map { MonotonicTime.current.duration(to: $0) }
        self.poller.wait(for: limit) { key, readiness in self.markDue(key, readiness) }
    }

    private func markDue(_ key: Int, _ readiness: Poller.Readiness) {
        guard self.channels.indices.contains(key), self.channels[key] != nil else { return }
        self.channels[key]?.readiness.formUnion(readiness)
        guard self.channels[key]?.isDue == false else { return }
        self.channels[key]?.isDue = true
        self.due.append(key)
    }

    private func serviceDue() {
        let now = MonotonicTime.current
        if let next = self.timers.next, next <= now {
            for key in self.timers.popExpired(now: now) { self.markDue(key, []) }
        }
        guard !self.due.isEmpty else { return }
        let due = self.due
        self.due.removeAll(keepingCapacity: true)
        for key in due { self.service(key, now: now) }
    }

    private func service(_ key: Int, now: MonotonicTime) {
        guard let channel = self.channels[key] else { return }
        self.channels[key]?.isDue = false
        self.channels[key]?.readiness = []
        let next = channel.connection.assumeIsolated { $0.service(channel.readiness, now: now) }
        // A deadline that moved back is found out when the old one fires: acknowledgements move it all the time.
        guard let next, self.channels[key] != nil else { return }
        if let standing = self.timers.deadline(of: key), standing <= next { return }
        self.timers.set(key, deadline: next)
    }
}
