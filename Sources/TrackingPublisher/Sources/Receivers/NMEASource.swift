private import SystemLibrary
public import TrackingCore
import TrackingRuntime

/// An NMEA 0183 receiver on a serial line, over TCP or behind a pipe.
///
/// The source asks a serial receiver for the cycle that matches the desired interval, if the receiver supports that
/// (see `docs/reference/sources.md`). Between two fixes of an interval above 60 s, and while the source does not run, a
/// u-blox or MediaTek receiver sleeps. The source never writes to a TCP server. ``RecordingSource`` replays recorded NMEA.
public struct NMEASource: LocationSource {
    /// The way by which the NMEA receiver is connected: a serial device, a TCP server or standard input.
    public enum Line: Hashable, Sendable {
        /// A serial device, at this speed in bits a second (8 data bits, no parity, one stop bit).
        case serial(path: String, speed: Int = 9600)
        /// A TCP server that sends the receiver's sentences to each client.
        case tcp(host: String, port: UInt16)
        /// Standard input until its end. Fixes are delivered as they arrive. Only one source of a process can read
        /// standard input.
        case standardInput
    }

    /// The silence on the line after which a burst of sentences counts as complete.
    private static let pause: Duration = .milliseconds(250)

    /// The properties of the source that are known before it runs: its name, its kind, its class of accuracy, whether
    /// it ends by itself, and whether it is a live receiver that measures the current position.
    public let facts: SourceFacts
    private let line: Line
    private let asksForCycle: Bool
    private let wanted = ResolutionBox()
    private let receiverSleep = ReceiverSleep()

    /// Creates a source of fixes for an NMEA receiver.
    ///
    /// - Parameters:
    ///   - line: The connection to the receiver: a serial device, a TCP server or standard input.
    ///   - asksForCycle: `true` when the source may ask a serial receiver to change its cycle, the time between two
    ///     fixes, and to sleep. With `false` it never writes to the receiver.
    ///   - accuracy: The class of accuracy that the receiver reaches.
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
        // A pipe may contain a recording as well as a receiver's output: it ends, and its dates may be of any year.
        let isPipe = line == .standardInput
        self.facts = SourceFacts(name: name, kind: .gps, isFinite: isPipe, isLive: !isPipe, accuracy: accuracy)
    }

    /// The time until which the serial receiver sleeps between two fixes; `nil` while it is awake, or cannot sleep.
    public var asleepUntil: MonotonicTime? { self.receiverSleep.until }

    /// Sets the resolution that the trackables need from now on. A running source asks a serial receiver to adapt its
    /// cycle, if the source may do so.
    public func use(_ resolution: Resolution) async { self.wanted.set(resolution) }

    /// Delivers fixes until cancelled, or until standard input ends.
    ///
    /// - Throws: `inputUnreadable` when the receiver cannot be reached or disappears. Callers may call it again.
    public func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        try await self.wanted.run { (waiter) async throws(TrackingError) in
            let channel = try await self.open(waiter)
            defer { channel.close() }
            try await self.listen(channel, deliver)
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
        defer { self.receiverSleep.set(until: nil) }
        do throws(TrackingError) {
            try await self.send(receiver?.opened(), of: receiver, channel)
            while true {
                let quiet = decoder.isWaiting ? DeviceClock.now.advanced(by: Self.pause) : nil
                var events: [SourceEvent] = []
                switch try await channel.read(until: .earlier(quiet, receiver?.deadline)) {
                case .bytes(let bytes):
                    for line in splitter.append(bytes).map({ NMEALine($0) }) {
                        events += decoder.receive(line, clock: DeviceClock.wall)
                        if case .sentence(let sentence) = line {
                            try await self.send(receiver?.received(sentence), of: receiver, channel)
                        }
                    }
                case .quiet:
                    if let quiet, DeviceClock.now >= quiet { events = decoder.fellQuiet(clock: DeviceClock.wall) }
                case .news:
                    guard let resolution = self.wanted.current else { continue }
                    try await self.send(receiver?.wanted(resolution, now: DeviceClock.now), of: receiver, channel)
                case .end:
                    let last = splitter.finish().map { decoder.receive(NMEALine($0), clock: DeviceClock.wall) } ?? []
                    await self.deliver(last + decoder.finish(clock: DeviceClock.wall), deliver)
                    if self.facts.isFinite { return }
                    throw TrackingError(
                        .inputUnreadable,
                        "no fixes from \(self.facts.name): the receiver was disconnected. Check its cable")
                }
                await self.deliver(events, deliver)
                for case .fix(let fix) in events {
                    try await self.send(receiver?.received(fix, now: DeviceClock.now), of: receiver, channel)
                }
                try await self.send(receiver?.timerFired(now: DeviceClock.now), of: receiver, channel)
            }
        } catch {
            // The task is cancelled, so the command is only sent if the line accepts it at once.
            if error.code == .stopped { try? await self.send(receiver?.stopped(), of: receiver, channel) }
            throw error
        }
    }

    /// A new value that decides which commands to send to the receiver; `nil` when the source never writes to the
    /// receiver.
    private var receiver: SerialReceiver? {
        guard self.asksForCycle, case .serial(_, let speed) = self.line else { return nil }
        return SerialReceiver(speed: speed, resolution: self.wanted.current, now: DeviceClock.now)
    }

    /// Writes a command to the receiver, and notes the time until which the receiver then sleeps.
    ///
    /// - Parameters:
    ///   - bytes: The command; nothing is written for `nil` and for an empty command.
    ///   - receiver: The value that decided on the command, in its state after the decision; `nil` if the source never
    ///     writes to the receiver.
    private func send(
        _ bytes: [UInt8]?, of receiver: SerialReceiver?, _ channel: ByteChannel
    ) async throws(TrackingError) {
        self.receiverSleep.set(until: receiver?.asleepUntil)
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
