public import TrackingCore
import TrackingRuntime

/// The receivers that a gpsd drives, over TCP.
///
/// gpsd determines the accuracy of its receivers. The source asks gpsd to set the cycle of its receivers to the
/// desired interval, if the driver can. Every other client of that gpsd then gets fixes at that cycle too.
///
/// Between two fixes of an interval above 60 s, the source closes its connection. A gpsd without clients closes its
/// receivers, unless it runs with `-n`. `asksForCycle: false` leaves the cycle unchanged and the connection open.
public struct GPSDSource: LocationSource {
    /// The default port of gpsd.
    public static let defaultPort: UInt16 = 2947

    /// The properties of the source that are known before it runs: its name, its kind, its class of accuracy, whether
    /// it ends by itself, and whether it is a live receiver that measures the current position.
    public let facts: SourceFacts
    private let host: String
    private let port: UInt16
    private let asksForCycle: Bool
    private let wanted = ResolutionBox()
    private let receiverSleep = ReceiverSleep()

    /// Creates a source for the receivers of a gpsd.
    ///
    /// - Parameters:
    ///   - host: The name or the address of the host.
    ///   - port: The port of gpsd, 1…65,535.
    ///   - asksForCycle: `true` when the source may ask gpsd to change the cycle of its receivers, and may close its
    ///     connection between two fixes.
    ///   - accuracy: The class of accuracy that the receivers reach.
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

    /// The time until which the receivers sleep between two fixes; `nil` while the source is connected to gpsd.
    public var asleepUntil: MonotonicTime? { self.receiverSleep.until }

    /// Sets the resolution that is wanted from now on. A running source asks gpsd to adapt the cycle of its receivers,
    /// if that is allowed.
    public func use(_ resolution: Resolution) async { self.wanted.set(resolution) }

    /// Delivers fixes until cancelled.
    ///
    /// - Throws: `inputUnreadable` when gpsd cannot be reached, closes the connection, does not answer, has no
    ///   receiver, or uses another version of its protocol. Callers may call it again.
    public func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        try await self.wanted.run { (waiter) async throws(TrackingError) in
            var power = ReceiverPower(resolution: self.wanted.current, now: DeviceClock.now)
            while true {
                let channel = try await SocketConnector.connect(
                    host: self.host, port: self.port, name: self.facts.name, waiter: waiter)
                defer { channel.close() }
                if let resolution = self.wanted.current { _ = power.wanted(resolution, now: DeviceClock.now) }
                try await self.converse(channel, &power, deliver)
                self.receiverSleep.set(until: power.asleepUntil)
                channel.close()
                try await self.sleep(&power, waiter)
            }
        }
    }

    /// Waits without a connection until the receivers are needed again.
    private func sleep(_ power: inout ReceiverPower, _ waiter: Waiter) async throws(TrackingError) {
        defer { self.receiverSleep.set(until: nil) }
        while power.isAsleep {
            self.receiverSleep.set(until: power.asleepUntil)
            let wake = await waiter.next(until: power.deadline)
            if wake.contains(.cancelled) || Task.isCancelled { throw SystemError.cancelled }
            if let resolution = self.wanted.current { _ = power.wanted(resolution, now: DeviceClock.now) }
            _ = power.timerFired(now: DeviceClock.now)
        }
    }

    /// Reads the reports of gpsd until the receivers may sleep.
    private func converse(
        _ channel: ByteChannel, _ power: inout ReceiverPower,
        _ deliver: @escaping @Sendable (SourceEvent) async -> Void
    ) async throws(TrackingError) {
        var splitter = LineSplitter()
        var machine = GPSDSessionStateMachine(
            name: self.facts.name, asksForCycle: self.asksForCycle, resolution: power.awakeResolution)
        // The error of the last write. Lines that gpsd sent before it closed the connection are read nevertheless.
        var refusal: TrackingError?
        func perform(
            _ actions: [GPSDSessionStateMachine.Action], _ power: inout ReceiverPower
        ) async throws(TrackingError) {
            for action in actions {
                switch action {
                case .send(let line):
                    if refusal == nil { refusal = try await self.refusal(of: line, channel) }
                case .deliver(let event):
                    await deliver(event)
                    if self.asksForCycle, case .fix(let fix) = event {
                        _ = power.received(fix, now: DeviceClock.now)
                    }
                case .fail(let error): throw error
                }
            }
        }
        try await perform(machine.connected(now: DeviceClock.now), &power)
        while !power.isAsleep {
            let deadline = MonotonicTime.earlier(machine.deadline, self.asksForCycle ? power.deadline : nil)
            switch try await channel.read(until: refusal == nil ? deadline : DeviceClock.now) {
            case .bytes(let bytes):
                for line in splitter.append(bytes) {
                    try await perform(machine.received(line, now: DeviceClock.now), &power)
                }
            case .end:
                throw refusal
                    ?? TrackingError(
                        .inputUnreadable,
                        "no fixes from \(self.facts.name): gpsd closed the connection. Check that gpsd runs")
            case .news:
                guard let resolution = self.wanted.current else { continue }
                _ = power.wanted(resolution, now: DeviceClock.now)
                try await perform(machine.resolutionChanged(to: power.awakeResolution ?? resolution), &power)
            case .quiet: if let refusal { throw refusal }
            }
            try await perform(machine.timerFired(now: DeviceClock.now), &power)
            if self.asksForCycle { _ = power.timerFired(now: DeviceClock.now) }
        }
    }

    /// Sends a line to gpsd.
    ///
    /// - Returns: The error when the connection does not accept the line; `nil` if the line was sent.
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
