public import TrackingCore
import SystemLibrary
import Synchronization
import TrackingRuntime

/// A TCP proxy on the loopback interface that forwards everything to a server there. On request it simulates faults of
/// a network, such as cut connections, slow transfer and lost bytes.
///
///     let proxy = try FaultProxy(to: broker.port)
///     // … connect to 127.0.0.1:proxy.port …
///     proxy.cut()
///
/// The proxy stops listening when the last reference to it is released.
public final class FaultProxy: Sendable {
    /// The mode of the proxy: forwarding at once, forwarding slowly, or refusing connections.
    public enum Mode: Hashable, Sendable {
        /// The proxy forwards the bytes of both directions at once and unchanged, unless another fault applies.
        case pass
        /// Bytes are forwarded at this rate, in bytes per second, in each direction of each connection. A rate below 1
        /// counts as 1.
        case slow(bytesPerSecond: Int)
        /// New connections are accepted and closed at once. Existing connections are not affected.
        case refuse
    }

    private struct State {
        var mode = Mode.pass
        var damages: ArraySlice<StreamDamage> = []
        var losses = Losses()
        var trigger: [UInt8] = []
        var pairs: [Int: Pair] = [:]
        var nextPair = 0
    }

    /// The port on 127.0.0.1 at which the proxy accepts connections.
    public let port: Int
    private let listener: Int32
    private let target: Int
    private let state = Mutex(State())

    /// Makes a proxy that listens on a free port.
    ///
    /// - Parameter port: The port on 127.0.0.1 of the server to which the proxy forwards.
    /// - Throws: `TrackingError.Code.inputUnreadable` when the system has no port or thread left.
    public init(to port: Int) throws(TrackingError) {
        (self.listener, self.port) = try Loopback.listen()
        self.target = port
        try Loopback.accept(from: self.listener, for: "a fault proxy") { [weak self] client, _ in
            guard let self else { return false }
            self.accepted(client)
            return true
        }
    }

    deinit {
        shutdown(self.listener, Int32(SHUT_RDWR))
        self.cut()
    }

    /// The mode of the proxy: forwarding at once, forwarding slowly, or refusing connections. A change takes effect at
    /// once.
    public var mode: Mode {
        get { self.state.withLock { $0.mode } }
        set { self.state.withLock { $0.mode = newValue } }
    }

    /// The number of client connections that the proxy forwards at present.
    public var connections: Int { self.state.withLock { $0.pairs.count } }

    /// Closes all open connections to clients and to the server. Connections made later are forwarded normally.
    public func cut() {
        for pair in self.state.withLock({ Array($0.pairs.values) }) { pair.end() }
    }

    /// Discards from now on all bytes of the connections that are open now, without closing them. Each side sees a peer
    /// that is silent. Connections made later are forwarded normally.
    public func swallow() {
        for pair in self.state.withLock({ Array($0.pairs.values) }) { pair.isSwallowed.store(true, ordering: .relaxed) }
    }

    /// Closes a connection when its client sends this sequence of bytes. The bytes that complete the sequence are not
    /// forwarded. The rule applies from now on, to all connections. Some brokers react to a forbidden topic in this
    /// way. An empty array turns the rule off.
    public func closes(on bytes: [UInt8]) { self.state.withLock { $0.trigger = bytes } }

    /// Damages the next connections. The first damage is for the next connection, the second for the one after it, and
    /// so on. A damage discards some bytes that the server sends to the client. Connections after these are not
    /// damaged.
    ///
    /// Damages from earlier calls that were not used yet are discarded.
    public func damage(_ damages: [StreamDamage]) { self.state.withLock { $0.damages = damages[...] } }

    /// The number of connections of which the proxy has lost bytes on purpose, and the time at which the last of them
    /// began to lose bytes.
    public struct Losses: Hashable, Sendable {
        /// The number of connections of which the proxy has lost bytes on purpose.
        public var count = 0
        /// The time at which the last damaged connection began to lose bytes; `nil` before the first one.
        public var last: ContinuousClock.Instant?
    }

    /// The number of connections of which the proxy has lost bytes so far, and the time at which the last of them began
    /// to lose bytes.
    public var losses: Losses { self.state.withLock { $0.losses } }

    // MARK: - On its threads

    private func accepted(_ client: Int32) {
        guard self.mode != .refuse, let server = Loopback.connect(to: self.target) else {
            close(client)
            return
        }
        let damage = self.state.withLock { $0.damages.popFirst() }
        let pair = Pair(client: client, server: server, damage: damage) { [weak self] in self?.noteLoss() }
        let number = self.state.withLock { state in
            state.nextPair += 1
            state.pairs[state.nextPair] = pair
            return state.nextPair
        }
        for isUpwards in [true, false] {
            let isStarted = DetachedThread.start(stackSize: nil) { [weak self] in
                pair.pump(isUpwards: isUpwards) { self?.state.withLock { ($0.mode, $0.trigger) } }
                if pair.finish() { self?.state.withLock { $0.pairs[number] = nil } }
            }
            if !isStarted {
                pair.end()
                if pair.finish() { self.state.withLock { $0.pairs[number] = nil } }
            }
        }
    }
}

extension FaultProxy {
    fileprivate func noteLoss() {
        self.state.withLock { state in
            state.losses.count += 1
            state.losses.last = .now
        }
    }
}

/// A client's connection to the proxy, with the proxy's connection to the server for that client.
private final class Pair: Sendable {
    let isSwallowed = Atomic<Bool>(false)
    private let client: Int32
    private let server: Int32
    /// The number of the pair's two threads that still run. Each thread forwards one direction. The last thread to end
    /// closes both sockets, because the system may reuse the number of a socket that is closed earlier.
    private let pumps = Mutex(2)

    private let damage: StreamDamage?
    private let onLoss: @Sendable () -> Void

    init(client: Int32, server: Int32, damage: StreamDamage?, onLoss: @escaping @Sendable () -> Void) {
        self.client = client
        self.server = server
        self.damage = damage
        self.onLoss = onLoss
    }

    /// Shuts down the two connections of this pair: the client's connection to the proxy, and the proxy's connection to
    /// the server. The two threads that forward between them then end.
    func end() {
        self.pumps.withLock { pumps in
            guard pumps > 0 else { return }
            shutdown(self.client, Int32(SHUT_RDWR))
            shutdown(self.server, Int32(SHUT_RDWR))
        }
    }

    /// Counts the end of one of the two forwarding threads. When both have ended, closes the sockets of the client and
    /// of the server.
    ///
    /// - Returns: `true` when both threads have ended.
    func finish() -> Bool {
        self.pumps.withLock { pumps in
            pumps -= 1
            guard pumps == 0 else { return false }
            close(self.client)
            close(self.server)
            return true
        }
    }

    /// Forwards bytes in one direction until either side ends the connection. Applies the proxy's faults to them.
    func pump(isUpwards: Bool, rules: () -> (mode: FaultProxy.Mode, trigger: [UInt8])?) {
        defer { self.end() }
        let (source, sink) = isUpwards ? (self.client, self.server) : (self.server, self.client)
        var buffer = [UInt8](repeating: 0, count: 16_384)
        var last: [UInt8] = []
        var damage = isUpwards ? nil : self.damage
        while let before = rules() {
            // A slow connection reads ten portions a second, or one byte at a time.
            var portion = buffer.count
            if case .slow(let rate) = before.mode { portion = min(portion, max(1, rate / 10)) }
            let count = recv(source, &buffer, portion, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0, let (mode, trigger) = rules() else { return }
            if isUpwards, !trigger.isEmpty {
                // The trigger may be divided between two portions.
                last += buffer[..<count]
                if last.contains(subsequence: trigger) { return }
                last = last.suffix(trigger.count - 1)
            }
            if self.isSwallowed.load(ordering: .relaxed) { continue }
            // The delay blocks only this thread, which serves only this direction.
            if case .slow(let rate) = mode { usleep(UInt32(clamping: count * 1_000_000 / max(1, rate))) }
            var bytes = buffer[..<count]
            if let hadBegun = damage?.hasBegun, let rest = damage?.apply(to: bytes) {
                bytes = rest
                if !hadBegun, damage?.hasBegun == true { self.onLoss() }
            }
            guard Loopback.sendAll(bytes, to: sink) else { return }
        }
    }
}

extension [UInt8] {
    fileprivate func contains(subsequence: [UInt8]) -> Bool {
        guard self.count >= subsequence.count else { return false }
        return (0...(self.count - subsequence.count)).contains { self[$0...].starts(with: subsequence) }
    }
}
