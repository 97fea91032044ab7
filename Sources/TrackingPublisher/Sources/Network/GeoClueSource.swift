public import TrackingCore
import TrackingRuntime

/// The positions of [GeoClue](https://gitlab.freedesktop.org/geoclue/geoclue), which finds them by the networks around
/// the device, over the D-Bus system bus.
///
/// A position by Wi-Fi or by cells is coarse, and needs no receiver. So the source has the class of accuracy `LOW`:
/// beside a receiver, it runs while no trackable needs more than this class, and the receiver sleeps.
///
/// GeoClue must permit positions to `godwit-agent` (see `docs/reference/sources.md`).
public struct GeoClueSource: LocationSource {
    /// The properties of the source that are known before it runs: its name, its kind, its class of accuracy, whether
    /// it ends by itself, and whether it is a live receiver that measures the current position.
    public let facts: SourceFacts
    private let bus: String?
    private let wanted = ResolutionBox()

    /// Creates a source of the positions of this device's GeoClue.
    ///
    /// - Parameters:
    ///   - bus: The address of the system bus in the form of D-Bus, such as `unix:path=/run/dbus/system_bus_socket`.
    ///     With `nil`, the environment variable `DBUS_SYSTEM_BUS_ADDRESS` or else the usual address.
    ///   - accuracy: The class of accuracy that the positions reach.
    public init(bus: String? = nil, accuracy: Resolution.Accuracy = .low) {
        self.bus = bus
        self.facts = SourceFacts(name: "geoclue:", kind: .network, isFinite: false, isLive: true, accuracy: accuracy)
    }

    /// Sets the resolution that is wanted from now on. A running source asks GeoClue for its interval.
    public func use(_ resolution: Resolution) async { self.wanted.set(resolution) }

    /// Delivers positions until cancelled.
    ///
    /// - Throws: `inputUnreadable` when the system bus cannot be reached, GeoClue is not installed, refuses positions,
    ///   knows none, or ends. Callers may call it again.
    public func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        try await self.wanted.run { (waiter) async throws(TrackingError) in
            // GeoClue removes its client when the connection is closed.
            let channel = try SystemBus.connect(self.bus, name: Self.title, waiter: waiter)
            defer { channel.close() }
            try await self.converse(channel, deliver)
        }
    }

    /// The name of the source in error messages.
    private static let title = "GeoClue"

    private func converse(
        _ channel: ByteChannel, _ deliver: @escaping SourceEvent.Delivery
    ) async throws(TrackingError) {
        var machine = GeoClueStateMachine(name: Self.title, resolution: self.wanted.current)
        var actions = machine.connected(now: DeviceClock.now)
        while true {
            for action in actions {
                switch action {
                case .send(let bytes): try await channel.write(bytes)
                case .deliver(let event): await deliver(event)
                case .fail(let error): throw error
                }
            }
            switch try await channel.read(until: machine.deadline) {
            case .bytes(let bytes):
                actions = machine.received(bytes, now: DeviceClock.now, clock: DeviceClock.wall)
            case .news:
                actions =
                    self.wanted.current.map { machine.resolutionChanged(to: $0, now: DeviceClock.now) } ?? []
            case .quiet: actions = machine.timerFired(now: DeviceClock.now)
            case .end:
                throw TrackingError(
                    .inputUnreadable, "no positions from \(Self.title): the system bus closed the connection")
            }
        }
    }
}
