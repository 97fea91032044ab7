import Synchronization
package import TrackingCore
import TrackingHTTP
import TrackingRuntime

/// A sink in the place of a broker: the connection of a publisher whose records go to an HTTP server.
///
/// The publisher and its log work as with a broker. A batch counts as acknowledged by the broker when the sink has
/// acknowledged its points; a failure counts as a refusal, after which the publisher sends the batch again.
package final class SinkTransport: MessageTransport {
    private struct State {
        var session: SinkSession
        /// The time limit of the publisher's request to close; `nil` before the request.
        var closing: Duration?
    }

    private let address: ForwardAddress
    private let secret: String?
    private let timeout: Duration
    private let client: HTTPClient
    private let state: Mutex<State>
    private let changed = WakeSignal()
    private let clock = DeviceClock()
    private let continuation: AsyncStream<[TransportEvent]>.Continuation
    /// The events of the connection, in order. The connection begins with ``run()``.
    package let events: AsyncStream<[TransportEvent]>

    /// The reason why the sink did not acknowledge the latest batch of a trackable; `nil` if it acknowledged the latest
    /// batch of each, and before the first request.
    package var failure: String? { self.state.withLock { $0.session.failure } }

    /// The time limit for a request with its answer: 30 s.
    package static let standardTimeout = Duration.seconds(30)

    /// Creates a transport that sends nothing yet.
    ///
    /// - Parameters:
    ///   - address: The address of the sink, not that of a broker.
    ///   - secret: The token of an Overland server, or the key of a webhook's signatures; `nil` for none.
    ///   - root: The topic root of the publisher.
    ///   - timeout: The time limit for a request with its answer.
    /// - Throws: `invalidConfiguration` for a broker, for a webhook without a secret of at least 16 bytes, and if
    ///   libcurl is missing.
    package init(
        _ address: ForwardAddress, secret: String?, root: TopicRoot = .standard,
        timeout: Duration = SinkTransport.standardTimeout
    ) throws(TrackingError) {
        try address.check(secret: secret)
        self.client = HTTPClient()
        self.timeout = timeout
        self.address = address
        self.secret = secret
        self.state = Mutex(State(session: SinkSession(root: root)))
        (self.events, self.continuation) = AsyncStream.makeStream()
    }

    /// Passes commands to the sink in order, and returns at once.
    package func send(_ commands: [TransportCommand]) {
        let now = DeviceClock.now
        self.change { state in
            commands.flatMap { command in
                if case .close(let limit) = command { state.closing = limit }
                return state.session.handle(command, at: now)
            }
        }
    }

    /// Sends the points of the publisher's batches until the transport was closed or the task is cancelled.
    package func run() async {
        self.change { _ in [.connected(connection: 0, sessionPresent: false)] }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.forward() }
            group.addTask { await self.waitForClosing() }
            await group.next()
            group.cancelAll()
        }
        self.change { _ in [.disconnected(Disconnection(reason: nil, retry: nil, lasted: .zero))] }
        self.continuation.finish()
    }

    /// Sends the points of one batch after the other, until the transport was closed and none is left.
    private func forward() async {
        while await self.changed.wait(for: { self.state.withLock { $0.session.next != nil || $0.closing != nil } }) {
            guard let batch = self.state.withLock({ $0.session.next }) else { return }
            let request = ForwardRequest(batch, to: self.address, secret: self.secret, at: self.clock.moment.wall)
            let answer = await request.send(to: self.address, over: self.client, within: self.timeout)
            guard !Task.isCancelled else { return }
            let now = DeviceClock.now
            self.change { $0.session.answered(answer, count: request.count, at: now) }
        }
    }

    /// Waits until the time limit of the publisher's request to close is over.
    private func waitForClosing() async {
        guard await self.changed.wait(for: { self.state.withLock { $0.closing != nil } }),
            let limit = self.state.withLock({ $0.closing })
        else { return }
        _ = await self.changed.wait(until: DeviceClock.now.advanced(by: limit)) { false }
    }

    /// Changes the state of the transport, and delivers the events that this change caused to ``events``. The events of
    /// several changes are delivered in the order of the changes.
    private func change(_ body: (inout State) -> [TransportEvent]) {
        self.state.withLock { state in
            let events = body(&state)
            if !events.isEmpty { self.continuation.yield(events) }
        }
        self.changed.notify()
    }
}
