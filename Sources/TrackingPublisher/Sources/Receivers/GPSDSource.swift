public import TrackingCore
import TrackingRuntime

/// The receivers that a gpsd drives, over TCP.
///
/// gpsd decides how accurate its receivers are; the desired interval reaches it as the cycle of its receivers, where its driver
/// can set one. Every program that uses that gpsd then gets fixes at that cycle: `asksForCycle: false` leaves it alone.
public struct GPSDSource: LocationSource {
    /// Where gpsd listens unless told otherwise.
    public static let defaultPort: UInt16 = 2947

    /// What is known of the source before it runs.
    public let facts: SourceFacts
    private let host: String
    private let port: UInt16
    private let asksForCycle: Bool
    private let wanted = ResolutionBox()

    /// The gpsd on `host`, a name or an address.
    public init(
        host: String, port: UInt16 = GPSDSource.defaultPort, asksForCycle: Bool = true,
        accuracy: Resolution.Accuracy = .high
    ) {
        self.host = host
        self.port = port
        self.asksForCycle = asksForCycle
        self.facts = SourceFacts(
            name: "gpsd://\(host.contains(":") ? "[\(host)]" : host):\(port)", kind: .gps, isFinite: false,
            isLive: true, accuracy: accuracy)
    }

    /// Says which resolution is wanted from now on.
    public func use(_ resolution: Resolution) async { self.wanted.set(resolution) }

    /// Delivers fixes until cancelled.
    ///
    /// - Throws: `inputUnreadable` when gpsd cannot be reached, goes away or has no receiver; call it again later.
    public func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        let waiter = Waiter()
        self.wanted.wakes(waiter)
        defer { self.wanted.wakes(nil) }
        do throws(TrackingError) {
            let channel = try await SocketConnector.connect(
                host: self.host, port: self.port, name: self.facts.name, waiter: waiter)
            defer { channel.close() }
            try await self.converse(channel, deliver)
        } catch {
            if error.code != .stopped { throw error }
        }
    }

    private func converse(
        _ channel: ByteChannel, _ deliver: @escaping @Sendable (SourceEvent) async -> Void
    ) async throws(TrackingError) {
        var splitter = LineSplitter()
        var machine = GPSDSessionStateMachine(
            name: self.facts.name, asksForCycle: self.asksForCycle, resolution: self.wanted.current)
        // Why gpsd takes nothing any more: what it said before it went is heard all the same.
        var refusal: TrackingError?
        func perform(_ actions: [GPSDSessionStateMachine.Action]) async throws(TrackingError) {
            for action in actions {
                switch action {
                case .send(let line):
                    if refusal == nil { refusal = try await self.refusal(of: line, channel) }
                case .deliver(let event): await deliver(event)
                case .fail(let error): throw error
                }
            }
        }
        try await perform(machine.connected(now: SourceClock.now))
        while true {
            switch try await channel.read(until: refusal == nil ? machine.deadline : SourceClock.now) {
            case .bytes(let bytes):
                for line in splitter.append(bytes) { try await perform(machine.received(line, now: SourceClock.now)) }
            case .end:
                throw refusal ?? TrackingError(.inputUnreadable, "\(self.facts.name): gpsd closed the connection")
            case .news:
                guard let resolution = self.wanted.current else { continue }
                try await perform(machine.resolutionChanged(to: resolution))
            case .quiet: if let refusal { throw refusal }
            }
            try await perform(machine.timerFired(now: SourceClock.now))
        }
    }

    /// Says a line to gpsd.
    ///
    /// - Returns: Why it does not take it; `nil` where it does.
    private func refusal(of line: String, _ channel: ByteChannel) async throws(TrackingError) -> TrackingError? {
        do throws(TrackingError) {
            try await channel.write(Array(line.utf8))
            return nil
        } catch {
            if error.code == .stopped { throw error }
            return error
        }
    }
}
