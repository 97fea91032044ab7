public import TrackingCore
import Glibc
import Synchronization

/// A listener on the loopback interface that hands everything on to a server there, and fails as networks do.
///
///     let proxy = try FaultProxy(to: broker.port)
///     // … connect to 127.0.0.1:proxy.port …
///     proxy.cut()
///
/// It ends with the last reference to it.
public final class FaultProxy: Sendable {
    /// How it treats what it is given.
    public enum Mode: Hashable, Sendable {
        /// It is handed on at once.
        case pass
        /// It is handed on at this many bytes a second, each way of each connection; from 1.
        case slow(bytesPerSecond: Int)
        /// Connections are accepted, and closed at once.
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

    /// Where it listens, on 127.0.0.1.
    public let port: Int
    private let listener: Int32
    private let target: Int
    private let state = Mutex(State())

    /// Starts to listen on a free port.
    ///
    /// - Parameter port: Where the server listens, on 127.0.0.1.
    /// - Throws: `inputUnreadable` when the system has no port or thread left.
    public init(to port: Int) throws(TrackingError) {
        (self.listener, self.port) = try Loopback.listen()
        self.target = port
        let listener = self.listener
        let isStarted = Loopback.detach { [weak self] in
            while true {
                let client = accept(listener, nil, nil)
                if client < 0, errno == EINTR || errno == ECONNABORTED { continue }
                guard client >= 0, let self else {
                    if client >= 0 { close(client) }
                    break
                }
                self.accepted(client)
            }
            close(listener)
        }
        guard isStarted else {
            close(listener)
            throw TrackingError(.inputUnreadable, "no thread for a proxy")
        }
    }

    deinit {
        shutdown(self.listener, Int32(SHUT_RDWR))
        self.cut()
    }

    /// How it treats what it is given from now on, on every connection.
    public var mode: Mode {
        get { self.state.withLock { $0.mode } }
        set { self.state.withLock { $0.mode = newValue } }
    }

    /// How many connections stand.
    public var connections: Int { self.state.withLock { $0.pairs.count } }

    /// Closes every connection, towards both sides; new ones are accepted.
    public func cut() {
        for pair in self.state.withLock({ Array($0.pairs.values) }) { pair.end() }
    }

    /// Swallows from now on what comes on the connections that stand, and keeps them open: both sides believe that the
    /// other is silent. New ones are treated as ever.
    public func swallow() {
        for pair in self.state.withLock({ Array($0.pairs.values) }) { pair.isSwallowed.store(true, ordering: .relaxed) }
    }

    /// Closes a connection, from now on, when its client sends these bytes, which are not handed on: a broker that
    /// answers a forbidden topic so. Empty is never.
    public func closes(on bytes: [UInt8]) { self.state.withLock { $0.trigger = bytes } }

    /// Damages the next connections once each, in order; later ones pass undamaged.
    ///
    /// Earlier damages that no connection has met yet are replaced.
    public func damage(_ damages: [StreamDamage]) { self.state.withLock { $0.damages = damages[...] } }

    /// The damages that were done.
    public struct Losses: Hashable, Sendable {
        /// The number of damaged connections.
        public var count = 0
        /// The time of the last damage; `nil` before the first.
        public var last: ContinuousClock.Instant?
    }

    /// The damages that were done so far.
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
            let isStarted = Loopback.detach { [weak self] in
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

/// A client's connection and the one to its server.
private final class Pair: Sendable {
    let isSwallowed = Atomic<Bool>(false)
    private let client: Int32
    private let server: Int32
    /// Whoever is last closes the descriptors: until then their numbers are nobody else's.
    private let pumps = Mutex(2)

    private let damage: StreamDamage?
    private let onLoss: @Sendable () -> Void

    init(client: Int32, server: Int32, damage: StreamDamage?, onLoss: @escaping @Sendable () -> Void) {
        self.client = client
        self.server = server
        self.damage = damage
        self.onLoss = onLoss
    }

    /// Ends both connections; the pumps see it.
    func end() {
        self.pumps.withLock { pumps in
            guard pumps > 0 else { return }
            shutdown(self.client, Int32(SHUT_RDWR))
            shutdown(self.server, Int32(SHUT_RDWR))
        }
    }

    /// One pump has ended.
    ///
    /// - Returns: Whether both have, so that all is closed.
    func finish() -> Bool {
        self.pumps.withLock { pumps in
            pumps -= 1
            guard pumps == 0 else { return false }
            close(self.client)
            close(self.server)
            return true
        }
    }

    /// Hands on what comes from one side until either side ends.
    func pump(isUpwards: Bool, rules: () -> (mode: FaultProxy.Mode, trigger: [UInt8])?) {
        defer { self.end() }
        let (source, sink) = isUpwards ? (self.client, self.server) : (self.server, self.client)
        var buffer = [UInt8](repeating: 0, count: 16_384)
        var last: [UInt8] = []
        var damage = isUpwards ? nil : self.damage
        while let before = rules() {
            // At ten portions a second, or a byte at a time.
            var portion = buffer.count
            if case .slow(let rate) = before.mode { portion = min(portion, max(1, rate / 10)) }
            let count = recv(source, &buffer, portion, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0, let (mode, trigger) = rules() else { return }
            if isUpwards, !trigger.isEmpty {
                // What is looked for may come in two portions.
                last += buffer[..<count]
                if last.contains(subsequence: trigger) { return }
                last = last.suffix(trigger.count - 1)
            }
            if self.isSwallowed.load(ordering: .relaxed) { continue }
            // A slow line is slow: this thread is the line's own.
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
