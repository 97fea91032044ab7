import CMosquitto
import SystemLibrary
import Synchronization
import TrackingCore
package import TrackingRuntime

/// One thread that drives any number of broker connections. It is the executor of their actors, and of tasks that
/// prefer it.
///
/// A process needs one loop, ``shared``. Create further loops to separate groups of connections. A loop lives until
/// ``shutdown()``.
///
/// The loop works in passes. In each pass it reads the received bytes, runs the tasks on this thread that wait for
/// them, and then writes the resulting packets. A pass runs a limited number of jobs that other jobs enqueue, so that
/// the sockets do not have to wait.
///
/// `@unchecked`: only the loop's own thread uses `pipe`, `channels`, `freeKeys`, `timers`, `due`, `guestKeys` and
/// `readyGuests`. Everything else never changes after the loop was created, is behind a `Mutex`, or is atomic.
public final class MQTTEventLoop: SerialExecutor, @unchecked Sendable {
    /// The event loop that the connections of the process share by default.
    public static let shared = MQTTEventLoop(name: "mqtt")

    private enum Work {
        /// A job of an actor whose executor is the loop. The loop runs the job on its thread.
        case actorJob(UnownedJob)
        /// A job of a task that prefers the loop's thread. The loop runs the job on its thread.
        case taskJob(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private struct Inbox {
        var work: [Work] = []
        var keys: [Int] = []
        var guests: [any SocketLoopGuest] = []
        var isAsleep = false
        var isStopped = false

        var isEmpty: Bool {
            self.work.isEmpty && self.keys.isEmpty && self.guests.isEmpty && !self.isStopped
        }
    }

    /// A user of the loop's sockets and timers.
    private enum User {
        case connection(MQTTConnection)
        case guest(any SocketLoopGuest)
    }

    private struct Channel {
        let user: User
        var readiness = Poller.Readiness()
        var isDue = false
    }

    /// The maximum number of turns in one pass. In each turn, the loop runs the jobs that were enqueued before the turn
    /// began. A task that receives a message, and publishes an answer, needs fewer turns than this.
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
    private var guestKeys: [ObjectIdentifier: Int] = [:]
    /// The sockets of guests that became ready in this pass.
    private var readyGuests: [(guest: any SocketLoopGuest, descriptor: Int32, readiness: Poller.Readiness)] = []

    /// Starts a loop on a thread of its own.
    ///
    /// - Parameter name: The thread's name in a debugger: at most 15 bytes.
    public init(name: String) {
        MosquittoLibrary.load()
        self.tasks = LoopTaskExecutor(self)
        let isStarted = DetachedThread.start(stackSize: nil) {
            godwit_name_thread(name)
            self.run()
        }
        precondition(isStarted, "the system has no thread left for an event loop")
    }

    /// An executor that runs tasks on the loop's thread, for `withTaskExecutorPreference`. A task on it exchanges
    /// messages with a connection of the loop without a change of threads. Such a task must never block, because every
    /// connection of the loop would wait.
    public var executor: any TaskExecutor { self.tasks }

    /// Ends the loop's thread, after it has run all jobs that were enqueued before this call. No connection and no task
    /// may use the loop afterwards.
    public func shutdown() {
        self.post { $0.isStopped = true }
    }

    /// Runs an actor's job on the loop's thread. Called by the Swift runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.post { $0.work.append(.actorJob(job)) }
    }

    fileprivate func enqueueTask(_ job: UnownedJob) {
        self.post { $0.work.append(.taskJob(job)) }
    }

    /// Stops the program if the caller is not on the loop's thread. Called by the Swift runtime.
    public func checkIsolated() {
        precondition(self.isOnThread, "this runs on the thread of its event loop alone")
    }

    /// Runs `body` on the loop's thread, in the present pass or a later one. The function may be called from any
    /// thread.
    func call(_ body: @escaping @Sendable () -> Void) {
        self.post { $0.work.append(.call(body)) }
    }

    /// Schedules the connection with this key, the number that `attach` returned, for the present or the next pass. The
    /// function may be called from any thread.
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

    /// Adds a connection to the loop and schedules it for the next pass.
    ///
    /// - Returns: The key, a number that identifies the connection in the loop.
    func attach(_ connection: MQTTConnection) -> Int {
        let key = self.add(.connection(connection))
        self.wake(key)
        return key
    }

    private func add(_ user: User) -> Int {
        let key = self.freeKeys.popLast() ?? self.channels.endIndex
        if key == self.channels.endIndex { self.channels.append(nil) }
        self.channels[key] = Channel(user: user)
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
            // The loop is awake, so callers need not write to the descriptor that wakes it.
            self.inbox.withLock { $0.isAsleep = false }
            self.receive()
            for _ in 0..<Self.turnsAPass {
                self.takeTurn(&taken)
                if taken.work.isEmpty, taken.keys.isEmpty, taken.guests.isEmpty { break }
                taken.work.removeAll(keepingCapacity: true)
                taken.keys.removeAll(keepingCapacity: true)
                taken.guests.removeAll(keepingCapacity: true)
            }
            self.serviceDue()
        }
    }

    /// Reads received bytes from the connections whose sockets are ready, and delivers the messages to the programs.
    private func receive() {
        guard !self.due.isEmpty else { return }
        let now = DeviceClock.now
        for key in self.due {
            guard let channel = self.channels[key], case .connection(let connection) = channel.user else { continue }
            connection.assumeIsolated { $0.receive(channel.readiness, now: now) }
        }
        for ready in self.readyGuests { ready.guest.handle(ready.descriptor, SocketReadiness(ready.readiness)) }
        self.readyGuests.removeAll(keepingCapacity: true)
    }

    /// Runs the jobs that were enqueued up to now, and marks the woken connections as due.
    ///
    /// - Parameter taken: Lists to reuse, which must be empty. They are exchanged for the lists of enqueued jobs.
    private func takeTurn(_ taken: inout Inbox) {
        self.inbox.withLock { inbox in
            swap(&taken.work, &inbox.work)
            swap(&taken.keys, &inbox.keys)
            swap(&taken.guests, &inbox.guests)
            taken.isStopped = inbox.isStopped
        }
        for key in taken.keys { self.markDue(key, []) }
        for guest in taken.guests { self.markDue(self.key(of: guest), []) }
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
            isWorkWaiting ? .zero : self.timers.next.map { DeviceClock.now.duration(to: $0) }
        self.poller.wait(for: limit) { key, descriptor, readiness in
            self.markDue(key, readiness)
            guard self.channels.indices.contains(key), case .guest(let guest)? = self.channels[key]?.user else {
                return
            }
            self.readyGuests.append((guest, descriptor, readiness))
        }
    }

    private func markDue(_ key: Int, _ readiness: Poller.Readiness) {
        guard self.channels.indices.contains(key), self.channels[key] != nil else { return }
        self.channels[key]?.readiness.formUnion(readiness)
        guard self.channels[key]?.isDue == false else { return }
        self.channels[key]?.isDue = true
        self.due.append(key)
    }

    private func serviceDue() {
        let now = DeviceClock.now
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
        let next: MonotonicTime?
        switch channel.user {
        case .connection(let connection):
            next = connection.assumeIsolated { $0.service(channel.readiness, now: now) }
        case .guest(let guest):
            guard case .waiting(let deadline) = guest.run(now: now) else { return self.forget(guest) }
            next = deadline
        }
        // A deadline that moved later is noticed when the old one fires, because acknowledgements move deadlines all
        // the time.
        guard let next, self.channels[key] != nil else { return }
        if let standing = self.timers.deadline(of: key), standing <= next { return }
        self.timers.set(key, deadline: next)
    }
}

extension MQTTEventLoop: SocketLoop {
    /// Lets the loop's thread run a guest in the present pass or in a later one.
    package func schedule(_ guest: any SocketLoopGuest) { self.post { $0.guests.append(guest) } }

    /// Watches a socket of a guest on the loop's thread.
    package func watch(_ descriptor: Int32, for readiness: SocketReadiness, of guest: any SocketLoopGuest) {
        if readiness.isEmpty { return self.poller.forget(descriptor) }
        self.poller.watch(descriptor, key: self.key(of: guest), for: Poller.Readiness(readiness))
    }

    private func key(of guest: any SocketLoopGuest) -> Int {
        if let key = self.guestKeys[ObjectIdentifier(guest)] { return key }
        let key = self.add(.guest(guest))
        self.guestKeys[ObjectIdentifier(guest)] = key
        return key
    }

    private func forget(_ guest: any SocketLoopGuest) {
        if let key = self.guestKeys.removeValue(forKey: ObjectIdentifier(guest)) { self.detach(key) }
    }
}

extension SocketReadiness {
    fileprivate init(_ readiness: Poller.Readiness) {
        self = []
        if readiness.contains(.read) { self.insert(.read) }
        if readiness.contains(.write) { self.insert(.write) }
        if !readiness.isDisjoint(with: .failed) { self.insert(.failed) }
    }
}

extension Poller.Readiness {
    fileprivate init(_ readiness: SocketReadiness) {
        self = []
        if readiness.contains(.read) { self.insert(.read) }
        if readiness.contains(.write) { self.insert(.write) }
    }
}

/// An executor that runs tasks on the thread of an event loop. It must not be used longer than the loop.
private final class LoopTaskExecutor: TaskExecutor {
    private unowned let loop: MQTTEventLoop

    init(_ loop: MQTTEventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) { self.loop.enqueueTask(UnownedJob(job)) }
}
