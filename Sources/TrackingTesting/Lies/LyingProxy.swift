public import TrackingCore
import SystemLibrary
import Synchronization
import TrackingRuntime

/// A TCP proxy on the loopback interface that makes an honest broker there appear as one that lies.
///
///     let proxy = try LyingProxy(to: broker.port, lie: .losesAcknowledged(every: 500))
///     // … connect to 127.0.0.1:proxy.port …
///
/// The proxy reads the MQTT packets of both directions, without TLS, and changes some of them. It stops listening and
/// ends its connections when the last reference to it is released.
public final class LyingProxy: Sendable {
    /// The port on 127.0.0.1 at which the proxy accepts connections.
    public let port: Int
    private let target: Int
    private let lie: BrokerLie
    private let listener: Int32
    private let pairs = Mutex<[Int32: LyingPair]>([:])

    private static let maximumConnections = 64

    /// Makes a proxy that listens on a free port.
    ///
    /// - Parameters:
    ///   - port: The port on 127.0.0.1 of the broker.
    ///   - lie: The lie of the broker as the clients of the proxy see it.
    /// - Throws: `TrackingError.Code.inputUnreadable` when the system has no port or thread left.
    public init(to port: Int, lie: BrokerLie) throws(TrackingError) {
        (self.listener, self.port) = try Loopback.listen()
        self.target = port
        self.lie = lie
        try Loopback.accept(from: self.listener, for: "a lying proxy") { [weak self] client, _ in
            guard let self else { return false }
            self.accepted(client)
            return true
        }
    }

    deinit {
        shutdown(self.listener, Int32(SHUT_RDWR))
        for pair in self.pairs.withLock({ Array($0.values) }) { pair.end() }
    }

    private func accepted(_ client: Int32) {
        guard self.pairs.withLock({ $0.count < Self.maximumConnections }),
            let broker = Loopback.connect(to: self.target)
        else {
            close(client)
            return
        }
        let pair = LyingPair(client: client, broker: broker, lie: self.lie)
        self.pairs.withLock { $0[client] = pair }
        for isFromClient in [true, false] {
            let isStarted = DetachedThread.start(stackSize: nil) { [weak self] in
                pair.pump(isFromClient: isFromClient)
                pair.finish { self?.forget(client) }
            }
            if !isStarted {
                pair.end()
                pair.finish { self.forget(client) }
            }
        }
    }

    /// Removes a pair from the open ones. The system may reuse the number of its socket afterwards.
    private func forget(_ client: Int32) { _ = self.pairs.withLock { $0.removeValue(forKey: client) } }
}

/// The two connections of one client of a ``LyingProxy``: that of the client, and that to the broker.
private final class LyingPair: Sendable {
    private let client: Int32
    private let broker: Int32
    private let lies: Mutex<LieStateMachine>
    /// The number of directions whose thread has not ended.
    private let pumps = Mutex(2)
    /// Locked while a packet is written to the socket of the client or of the broker: the threads of both directions write
    /// to both, and the bytes of two packets must not mix.
    private let clientWriting = Mutex(())
    private let brokerWriting = Mutex(())

    init(client: Int32, broker: Int32, lie: BrokerLie) {
        self.client = client
        self.broker = broker
        self.lies = Mutex(LieStateMachine(lie))
    }

    /// Shuts down both connections, so that the threads of both directions end.
    func end() {
        self.pumps.withLock { pumps in
            guard pumps > 0 else { return }
            shutdown(self.client, Int32(SHUT_RDWR))
            shutdown(self.broker, Int32(SHUT_RDWR))
        }
    }

    /// Counts the end of one direction. After the second one, calls `onEnd` and closes both sockets.
    func finish(onEnd: () -> Void) {
        self.pumps.withLock { pumps in
            pumps -= 1
            guard pumps == 0 else { return }
            onEnd()
            close(self.client)
            close(self.broker)
        }
    }

    /// Passes on the packets of one direction, changed by the lie, until a side ends its connection.
    func pump(isFromClient: Bool) {
        defer { self.end() }
        var framer = PacketFramer()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(isFromClient ? self.client : self.broker, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0, let packets = framer.append(buffer[..<count]) else { return }
            let output = self.lies.withLock { lies in
                isFromClient ? lies.fromClient(packets) : lies.fromBroker(packets)
            }
            guard self.send(output) else { return }
        }
    }

    private func send(_ output: LieStateMachine.Output) -> Bool {
        let toBroker = output.toBroker.flatMap(\.bytes)
        let toClient = output.toClient.flatMap(\.bytes)
        return self.brokerWriting.withLock { _ in Loopback.sendAll(toBroker[...], to: self.broker) }
            && self.clientWriting.withLock { _ in Loopback.sendAll(toClient[...], to: self.client) }
    }
}
