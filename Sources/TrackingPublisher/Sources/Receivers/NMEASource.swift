private import Glibc
public import TrackingCore
import TrackingRuntime

/// A receiver that speaks NMEA 0183: on a serial line, over TCP or behind a pipe.
///
/// A serial receiver is asked for the cycle that matches the desired interval, where it is one that can be asked (see
/// `docs/sources.md`); a TCP server is never written to. Recorded NMEA is a ``RecordingSource``.
public struct NMEASource: LocationSource {
    /// Where the receiver is.
    public enum Line: Hashable, Sendable {
        /// A serial device, at so many bits a second (8 data bits, no parity, one stop bit).
        case serial(path: String, speed: Int = 9600)
        /// A server that sends sentences to whoever connects.
        case tcp(host: String, port: UInt16)
        /// Whatever writes to standard input; delivered as it comes, until it ends. Only one source of a process can read it.
        case standardInput
    }

    /// How long the line is quiet between two bursts of sentences, at least.
    private static let pause: Duration = .milliseconds(250)

    /// What is known of the source before it runs.
    public let facts: SourceFacts
    private let line: Line
    private let asksForCycle: Bool
    private let wanted = ResolutionBox()

    /// The receiver at the end of `line`; `asksForCycle: false` never writes to it.
    public init(_ line: Line, asksForCycle: Bool = true, accuracy: Resolution.Accuracy = .high) {
        self.line = line
        let name: String
        switch line {
        case .serial(let path, _):
            name = "nmea:\(path)"
            self.asksForCycle = asksForCycle
        case .tcp(let host, let port):
            name = "nmea:tcp://\(host.contains(":") ? "[\(host)]" : host):\(port)"
            self.asksForCycle = false
        case .standardInput:
            name = "nmea:-"
            self.asksForCycle = false
        }
        // A pipe may hold a recording as well as a receiver: it ends, and its dates may be of any year.
        let isPipe = line == .standardInput
        self.facts = SourceFacts(name: name, kind: .gps, isFinite: isPipe, isLive: !isPipe, accuracy: accuracy)
    }

    /// Says which resolution is wanted from now on.
    public func use(_ resolution: Resolution) async { self.wanted.set(resolution) }

    /// Delivers fixes until cancelled, or until standard input ends.
    ///
    /// - Throws: `inputUnreadable` when the receiver cannot be reached or goes away; call it again later.
    public func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        let waiter = Waiter()
        self.wanted.wakes(waiter)
        defer { self.wanted.wakes(nil) }
        do throws(TrackingError) {
            let channel = try await self.open(waiter)
            defer { channel.close() }
            try await self.listen(channel, deliver)
        } catch {
            if error.code != .stopped { throw error }
        }
    }

    private func open(_ waiter: Waiter) async throws(TrackingError) -> ByteChannel {
        switch self.line {
        case .serial(let path, let speed):
            try SerialLine.open(path: path, speed: speed, name: self.facts.name, waiter: waiter)
        case .tcp(let host, let port):
            try await SocketConnector.connect(host: host, port: port, name: self.facts.name, waiter: waiter)
        case .standardInput:
            ByteChannel(STDIN_FILENO, name: self.facts.name, waiter: waiter, isOwned: false)
        }
    }

    private func listen(
        _ channel: ByteChannel, _ deliver: @escaping @Sendable (SourceEvent) async -> Void
    ) async throws(TrackingError) {
        var splitter = LineSplitter()
        var decoder = NMEADecoder(isLive: true)
        var receiver = self.receiver
        try await self.send(receiver?.opened(), channel)
        while true {
            let deadline = decoder.isWaiting ? SourceClock.now.advanced(by: Self.pause) : nil
            switch try await channel.read(until: deadline) {
            case .bytes(let bytes):
                for line in splitter.append(bytes).map({ NMEALine($0) }) {
                    await self.deliver(decoder.receive(line, clock: SourceClock.unix), deliver)
                    if case .sentence(let sentence) = line { try await self.send(receiver?.heard(sentence), channel) }
                }
            case .quiet: await self.deliver(decoder.fellQuiet(clock: SourceClock.unix), deliver)
            case .news:
                guard let resolution = self.wanted.current else { continue }
                try await self.send(receiver?.resolutionChanged(to: resolution), channel)
            case .end:
                let last = splitter.finish().map { decoder.receive(NMEALine($0), clock: SourceClock.unix) } ?? []
                await self.deliver(last + decoder.finish(clock: SourceClock.unix), deliver)
                if self.facts.isFinite { return }
                throw TrackingError(.inputUnreadable, "\(self.facts.name): the receiver is gone")
            }
        }
    }

    /// Who decides what to say to the receiver; `nil` where nothing may be said.
    private var receiver: SerialReceiverStateMachine? {
        guard self.asksForCycle, case .serial(_, let speed) = self.line else { return nil }
        return SerialReceiverStateMachine(speed: speed, resolution: self.wanted.current)
    }

    private func send(_ bytes: [UInt8]?, _ channel: ByteChannel) async throws(TrackingError) {
        guard let bytes, !bytes.isEmpty else { return }
        try await channel.write(bytes)
    }

    private func deliver(
        _ events: [SourceEvent], _ deliver: @escaping @Sendable (SourceEvent) async -> Void
    ) async {
        for event in events {
            guard case .fix(var location) = event else {
                await deliver(event)
                continue
            }
            location.source = .gps
            await deliver(.fix(location))
        }
    }
}
