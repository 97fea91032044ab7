import CMosquitto
import SystemLibrary
import TrackingCore

/// Waits for the sockets of one event loop. The poller has a list of watched sockets in the kernel (epoll), and a
/// descriptor that interrupts the wait (eventfd).
///
/// `@unchecked`: both descriptors never change, and the kernel allows their use from every thread. Only the loop's
/// thread uses the buffer.
final class Poller: @unchecked Sendable {
    /// A set of socket conditions, such as readable and writable. It states the conditions to wait for, or those that
    /// the kernel reported.
    struct Readiness: OptionSet, Hashable, Sendable {
        let rawValue: UInt32
        static let read = Readiness(rawValue: EPOLLIN.rawValue)
        static let write = Readiness(rawValue: EPOLLOUT.rawValue)
        /// An error or a hang-up of the socket. The kernel always reports it, even if it was not asked for.
        static let failed = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
    }

    private static let wakeKey = UInt64.max
    private static let capacity = 256

    private let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    private let wakeUp = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    private let buffer = UnsafeMutablePointer<epoll_event>.allocate(capacity: Poller.capacity)

    init() {
        precondition(self.epoll >= 0 && self.wakeUp >= 0, "no descriptors left for an event loop")
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: Self.wakeKey))
        epoll_ctl(self.epoll, EPOLL_CTL_ADD, self.wakeUp, &event)
    }

    deinit {
        close(self.epoll)
        close(self.wakeUp)
        self.buffer.deallocate()
    }

    /// Ends the current call of ``wait(for:_:)``, or the next one if there is none.
    func wake() { eventfd_write(self.wakeUp, 1) }

    /// Watches a socket for the given conditions, in place of those given before. `key` identifies the socket when it
    /// is reported, and `isNew` is `true` for a socket that is not watched yet.
    func watch(_ descriptor: Int32, key: Int, for interest: Readiness, isNew: Bool) {
        var event = Self.event(descriptor, key: key, interest)
        epoll_ctl(self.epoll, isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event)
    }

    /// Watches a socket as ``watch(_:key:for:isNew:)`` does, whether or not it is watched yet.
    func watch(_ descriptor: Int32, key: Int, for interest: Readiness) {
        var event = Self.event(descriptor, key: key, interest)
        guard epoll_ctl(self.epoll, EPOLL_CTL_ADD, descriptor, &event) != 0, errno == EEXIST else { return }
        epoll_ctl(self.epoll, EPOLL_CTL_MOD, descriptor, &event)
    }

    /// Ends the watching of a socket.
    func forget(_ descriptor: Int32) { epoll_ctl(self.epoll, EPOLL_CTL_DEL, descriptor, nil) }

    private static func event(_ descriptor: Int32, key: Int, _ interest: Readiness) -> epoll_event {
        let data = UInt64(UInt32(key)) | UInt64(UInt32(descriptor)) << 32
        return epoll_event(events: interest.rawValue, data: epoll_data_t(u64: data))
    }

    /// Waits until a watched socket is ready, `limit` has passed (`nil` for no limit) or ``wake()`` is called. `body`
    /// is called for each ready socket.
    func wait(for limit: Duration?, _ body: (_ key: Int, _ descriptor: Int32, Readiness) -> Void) {
        let count = epoll_wait(self.epoll, self.buffer, Int32(Self.capacity), Self.milliseconds(limit))
        guard count > 0 else { return }
        for index in 0..<Int(count) {
            let event = self.buffer[index]
            if event.data.u64 == Self.wakeKey {
                var value: eventfd_t = 0
                eventfd_read(self.wakeUp, &value)
            } else {
                let data = event.data.u64
                body(
                    Int(UInt32(truncatingIfNeeded: data)), Int32(truncatingIfNeeded: data >> 32),
                    Readiness(rawValue: event.events))
            }
        }
    }

    /// Returns the duration in milliseconds for epoll: rounded up, so that a deadline has passed when the wait ends,
    /// and -1 for `nil`.
    private static func milliseconds(_ limit: Duration?) -> Int32 {
        guard let limit else { return -1 }
        guard limit > .zero else { return 0 }
        return Int32(clamping: limit.inMilliseconds + 1)
    }
}
