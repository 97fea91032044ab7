public import TrackingCore

/// A connection to a real broker, over libmosquitto.
///
/// MQTT 5, with 3.1.1 as the fallback that the broker's answer calls for. It connects again by itself, to its endpoints in
/// turn and with growing, jittered waits, until it is closed; only ``events`` tell.
public final class MQTTTransport: MessageTransport {
    /// What happened, in order, in batches. While it is not read, the broker is held back.
    public let events: MQTTEvents
    private let connection: MQTTConnection

    /// Makes a connection that is not run yet.
    ///
    /// - Parameter loop: The thread that drives it; one drives thousands.
    /// - Throws: `invalidConfiguration` when there is no endpoint, or a limit is out of range.
    public init(configuration: MQTTConfiguration, loop: MQTTEventLoop = .shared) throws(TrackingError) {
        guard !configuration.endpoints.isEmpty else {
            throw TrackingError(.invalidConfiguration, "a connection needs at least one endpoint")
        }
        guard (1...65_535).contains(configuration.sendMaximum), (1...65_535).contains(configuration.receiveMaximum) else {
            throw TrackingError(.invalidConfiguration, "the send and receive maximums must be 1 to 65535")
        }
        self.connection = MQTTConnection(configuration, loop: loop)
        self.events = MQTTEvents(connection: self.connection)
    }

    /// Asks for commands, in order; returns at once.
    public func send(_ commands: [TransportCommand]) { self.connection.send(commands) }

    /// Connects and stays connected until closed or cancelled. Call it once.
    public func run() async { await self.connection.run() }
}
