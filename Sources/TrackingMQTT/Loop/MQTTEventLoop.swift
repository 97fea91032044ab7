import Glibc
import Synchronization
import TrackingCore

/// One thread that drives any number of connections, and the executor of their actors and of tasks that prefer it.
///
/// A process needs one, ``shared``; whoever wants to keep groups of connections apart makes more. A loop lives until
/// ``shutdown()``.
///
/// It goes in passes: what has come is read and handed over, then those run who wait for it on this thread, and then
/// everything is written that came of it. Jobs that ask for more jobs hold no socket up: after a few turns the pass goes on.
///
/// `@unchecked`: `pipe`, `channels`, `timers` and the two lists are touched on the loop's own thread alone; everything else is
/// immutable once the loop is made, or behind a `Mutex`.
public final class MQTTEventLoop: SerialExecutor, @unchecked Sendable {
    /// The loop of everyone who asks for no other.
    public static let shared = MQTTEventLoop(name: "mqtt")

    private enum Work {
        /// Of an actor whose executor the loop is.
        case actorJob(UnownedJob)
        /// Of a task that prefers the loop's thread.
        case taskJob(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private struct Inbox {
        var work: [Work] = []
        var keys: [Int] = []
        var isAsleep = false
        var isStopped = false

        var isEmpty: Bool { self.work.isEmpty && self.keys.isEmpty && !self.isStopped }
    }

    private struct Channel {
        let connection: MQTTConnection
        var readiness = Poller.Readiness()
        var isDue = false
    }

    /// How many turns of jobs a pass has at most, each of what was asked for before it: a message that is received, decided
    /// upon and answered takes fewer.
    private static let turnsAPass = 8

    let poller = Poller()
    let pipe = InboundPipe()
    private var tasks: LoopTaskExecutor!  // made with the loop, before its thread, and never changed
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
        self.tasks = LoopTaskExecutor(self)
        let isStarted = DetachedThread.start(name: name) { self.run() }
        precondition(isStarted, "the system has no thread left for an event loop")
    }

    /// Runs tasks on the loop's thread, for `withTaskExecutorPreference`: one that publishes or reads there hands its
    /// messages over without a change of threads. Such a task must never block: every connection of the loop would wait.
    public var executor: any TaskExecutor { self.tasks }

    /// Ends the thread once it has done what was asked before. No connection and no task may use the loop afterwards.
    public func shutdown() {
        self.post { $0.isStopped = true }
    }

    /// Runs an actor's job on the loop's thread; called by Swift.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.post { $0.work.append(.actorJob(job)) }
    }

    fileprivate func enqueueTask(_ job: UnownedJob) {
        self.post { $0.work.append(.taskJob(job)) }
    }

    /// Stops the program where the caller is not on the loop's thread; called by Swift.
    public func checkIsolated() {
        precondition(self.isOnThread, "this runs on the thread of its event loop alone")
    }

    /// Runs `body` on the loop's thread, soon.
    func call(_ body: @escaping @Sendable () -> Void) {
        self.post { $0.work.append(.call(body)) }
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
        var taken = Inbox()
        while !taken.isStopped {
            let isWorkWaiting = self.inbox.withLock { inbox in
                inbox.isAsleep = inbox.isEmpty
                return !inbox.isAsleep
            }
            self.wait(isWorkWaiting: isWorkWaiting)
            // Awake: who asks for something now need not write to the descriptor that wakes.
            self.inbox.withLock { $0.isAsleep = false }
            self.receive()
            for _ in 0..<Self.turnsAPass {
                self.takeTurn(&taken)
                if taken.work.isEmpty, taken.keys.isEmpty { break }
                taken.work.removeAll(keepingCapacity: true)
                taken.keys.removeAll(keepingCapacity: true)
            }
            self.serviceDue()
        }
    }

    /// Lets the connections read whose sockets are ready.
    private func receive() {
        guard !self.due.isEmpty else { return }
        let now = MonotonicTime.current
        for key in self.due {
            guard let channel = self.channels[key] else { continue }
            channel.connection.assumeIsolated { $0.receive(channel.readiness, now: now) }
        }
    }

    /// - Parameter taken: Empty lists, in exchange for what was asked for up to now.
    private func takeTurn(_ taken: inout Inbox) {
        self.inbox.withLock { inbox in
            swap(&taken.work, &inbox.work)
            swap(&taken.keys, &inbox.keys)
            taken.isStopped = inbox.isStopped
        }
        for key in taken.keys { self.markDue(key, []) }
        for work in taken.work {
            switch work {
            case .actorJob(let job): job.runSynchronously(on: self.asUnownedSerialExecutor())
            case .taskJob(let job): job.runSynchronously(on: self.tasks.asUnownedTaskExecutor())
            case .call(let body): body()
            }
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

/// Runs tasks on the thread of an event loop, and lives as long as it.
private final class LoopTaskExecutor: TaskExecutor {
    private unowned let loop: MQTTEventLoop

    init(_ loop: MQTTEventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) { self.loop.enqueueTask(UnownedJob(job)) }
}
