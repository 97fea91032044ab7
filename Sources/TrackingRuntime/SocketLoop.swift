package import TrackingCore

/// A thread that waits for the sockets of its guests, such as an HTTP client, beside its other work. A task that runs on
/// the thread uses a guest without a change of threads.
package protocol SocketLoop: AnyObject, Sendable {
    /// Lets the thread call ``SocketLoopGuest/run(now:)`` of a guest soon, and later whenever the guest's deadline has
    /// passed. Any thread may call this function.
    func schedule(_ guest: any SocketLoopGuest)

    /// Waits for a socket of a guest, for the given conditions in place of those given before. Without a condition, the
    /// loop forgets the socket. Only the loop's thread may call this function, while it runs the guest.
    func watch(_ descriptor: Int32, for readiness: SocketReadiness, of guest: any SocketLoopGuest)
}

/// A user of a ``SocketLoop``. The loop calls the functions on its thread. They must not block.
package protocol SocketLoopGuest: AnyObject, Sendable {
    /// Handles a socket that is ready.
    func handle(_ descriptor: Int32, _ readiness: SocketReadiness)

    /// Performs the work that waits for this guest.
    ///
    /// - Returns: The next call, at the latest.
    func run(now: MonotonicTime) -> SocketLoopTurn
}

/// The next call of a guest of a ``SocketLoop``.
package enum SocketLoopTurn: Hashable, Sendable {
    /// The guest waits for its sockets, and until the deadline; `nil` for no deadline.
    case waiting(until: MonotonicTime?)
    /// The guest has ended. The loop forgets it.
    case ended
}

/// A set of conditions of a socket.
package struct SocketReadiness: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = SocketReadiness(rawValue: 1)
    package static let write = SocketReadiness(rawValue: 2)
    /// An error or a hang-up, which is reported even if nothing waits for it.
    package static let failed = SocketReadiness(rawValue: 4)
}
