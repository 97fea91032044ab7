private import CMosquitto
private import Glibc
private import Synchronization
import TrackingCore

/// One thread that drives any number of connections and is the executor of their actors.
///
/// It sleeps in `epoll_wait` and is woken through an eventfd when a connection is given commands. A loop lives as long as the
/// process: make one, or use ``shared``.
public final class MQTTEventLoop: SerialExecutor {
    /// The loop that connections use unless they are given another.
    public static let shared = MQTTEventLoop()

    private struct Inbox {
        var jobs: [UnownedJob] = []
        var woken: [MQTTConnection] = []
        var isAwake = false
    }

    private let inbox = Mutex(Inbox())
    private let poll: Int32
    private let bell: Int32
    /// The thread's id, once it runs.
    private let thread = Atomic<UInt>(0)

    /// Starts a loop on a thread of its own.
    public init() {
        _ = MosquittoClient.initializeLibrary
        self.poll = epoll_create1(Int32(EPOLL_CLOEXEC))
        self.bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(self.poll >= 0 && self.bell >= 0, "no descriptors left for an event loop")
        self.listen(to: self.bell, for: UInt32(EPOLLIN.rawValue), isNew: true)
        var handle = pthread_t()
        pthread_create(
            &handle, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<MQTTEventLoop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        pthread_detach(handle)
    }

    // MARK: - Executor

    /// Takes a job of an actor; it runs on the loop's thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.wake { $0.jobs.append(job) }
    }

    /// Whether the caller is on the loop's thread.
    public func checkIsolated() {
        precondition(self.thread.load(ordering: .acquiring) == UInt(pthread_self()), "not on the event loop's thread")
    }

    /// A connection has commands in its outbox.
    func wake(_ connection: MQTTConnection) { self.wake { $0.woken.append(connection) } }

    private func wake(_ change: (inout sending Inbox) -> Void) {
        let isAsleep = self.inbox.withLock { inbox in
            change(&inbox)
            defer { inbox.isAwake = true }
            return !inbox.isAwake
        }
        if isAsleep { eventfd_write(self.bell, 1) }
    }

    // MARK: - Descriptors, on the loop's thread

    func listen(to descriptor: Int32, for events: UInt32, isNew: Bool) {
        var event = epoll_event(events: events, data: epoll_data_t(fd: descriptor))
        epoll_ctl(self.poll, isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event)
    }

    func forget(_ descriptor: Int32) { epoll_ctl(self.poll, EPOLL_CTL_DEL, descriptor, nil) }

    // MARK: - The thread

    /// What only the loop's thread touches.
    private struct Loop {
        var connections: [Int32: MQTTConnection] = [:]
        var active: [ObjectIdentifier: MQTTConnection] = [:]
        var deadlines = DeadlineQueue<ObjectIdentifier>()
    }

    private func run() {
        self.thread.store(UInt(pthread_self()), ordering: .releasing)
        var loop = Loop()
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while true {
            var touched = self.work(&loop)
            let count = epoll_wait(self.poll, &events, Int32(events.count), self.timeout(loop))
            for event in events.prefix(max(0, Int(count))) {
                if event.data.fd == self.bell { self.silenceBell() }
                guard let connection = loop.connections[event.data.fd] else { continue }
                connection.assumeIsolated { $0.ready(event.events) }
                touched.append(connection)
            }
            for id in loop.deadlines.popExpired(now: Self.now) {
                guard let connection = loop.active[id] else { continue }
                connection.assumeIsolated { $0.timerFired() }
                touched.append(connection)
            }
            for connection in touched { self.settle(connection, &loop) }
        }
    }

    /// Runs the jobs and takes in the commands that have come.
    private func work(_ loop: inout Loop) -> [MQTTConnection] {
        let (jobs, woken) = self.inbox.withLock { inbox in
            defer { (inbox.jobs, inbox.woken, inbox.isAwake) = ([], [], false) }
            return (inbox.jobs, inbox.woken)
        }
        for job in jobs { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        for connection in woken {
            connection.assumeIsolated { $0.takeCommands() }
            self.settle(connection, &loop)
        }
        return []
    }

    /// After a connection did something: what it waits for, when it wants to be woken, and what it tells.
    private func settle(_ connection: MQTTConnection, _ loop: inout Loop) {
        let id = ObjectIdentifier(connection)
        let (old, new, deadline, isOver) = connection.assumeIsolated { connection in
            connection.handOver()
            return connection.interest()
        }
        if let old, old != new {
            loop.connections[old] = nil
        }
        if let new { loop.connections[new] = connection }
        loop.active[id] = isOver ? nil : connection
        loop.deadlines.keep(id, at: isOver ? nil : deadline)
    }

    private func timeout(_ loop: Loop) -> Int32 {
        guard let next = loop.deadlines.next else { return -1 }
        // Rounded up, so that a deadline has come when the sleep is over.
        let milliseconds = Self.now.duration(to: next).inMilliseconds + 1
        return Int32(max(0, min(milliseconds, 60_000)))
    }

    private func silenceBell() {
        var count: eventfd_t = 0
        eventfd_read(self.bell, &count)
    }

    /// The monotonic clock that goes on while the device sleeps.
    static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return MonotonicTime(.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
    }
}
