import TrackingCore
import TrackingMQTT
import TrackingSinks

/// The connection of the agent's publisher: to a broker, or to the sink of `--forward` in place of one.
enum AgentTransport: MessageTransport {
    case broker(MQTTTransport)
    case sink(SinkTransport)

    var events: Events {
        switch self {
        case .broker(let transport): Events(source: .broker(transport.events))
        case .sink(let transport): Events(source: .sink(transport.events))
        }
    }

    var executor: (any TaskExecutor)? {
        switch self {
        case .broker(let transport): transport.executor
        case .sink(let transport): transport.executor
        }
    }

    /// The reason why the sink did not acknowledge the latest batch of a trackable; `nil` if it acknowledged the latest
    /// batch of each, and for a broker.
    var sinkFailure: String? {
        if case .sink(let transport) = self { transport.failure } else { nil }
    }

    func send(_ commands: [TransportCommand]) {
        switch self {
        case .broker(let transport): transport.send(commands)
        case .sink(let transport): transport.send(commands)
        }
    }

    func run() async {
        switch self {
        case .broker(let transport): await transport.run()
        case .sink(let transport): await transport.run()
        }
    }

    /// The events of the connection, in batches.
    struct Events: AsyncSequence, Sendable {
        fileprivate enum Source: Sendable {
            case broker(MQTTEvents)
            case sink(AsyncStream<[TransportEvent]>)
        }

        fileprivate let source: Source

        func makeAsyncIterator() -> AsyncIterator {
            switch self.source {
            case .broker(let events): AsyncIterator(source: .broker(events.makeAsyncIterator()))
            case .sink(let events): AsyncIterator(source: .sink(events.makeAsyncIterator()))
            }
        }

        /// An iterator over the batches of events.
        struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate enum Source {
                case broker(MQTTEvents.AsyncIterator)
                case sink(AsyncStream<[TransportEvent]>.AsyncIterator)
            }

            fileprivate var source: Source

            mutating func next() async -> [TransportEvent]? { await self.next(isolation: #isolation) }

            mutating func next(isolation actor: isolated (any Actor)?) async -> [TransportEvent]? {
                switch self.source {
                case .broker(var iterator):
                    defer { self.source = .broker(iterator) }
                    return await iterator.next(isolation: actor)
                case .sink(var iterator):
                    defer { self.source = .sink(iterator) }
                    return await iterator.next(isolation: actor)
                }
            }
        }
    }
}
