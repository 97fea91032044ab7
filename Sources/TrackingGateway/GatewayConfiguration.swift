/// What a gateway is told once.
public struct GatewayConfiguration: Sendable {
    /// The address to listen on.
    public var host: String
    /// The port to listen on; 0 takes a free one.
    public var port: Int
    /// What publishes what comes in; `nil` where nothing does.
    public var intake: Intake?
    /// Told the port once it listens.
    public var listening: @Sendable (Int) async -> Void

    /// Makes a configuration with the defaults above.
    public init(host: String, port: Int, listening: @escaping @Sendable (Int) async -> Void = { _ in }) {
        self.host = host
        self.port = port
        self.listening = listening
    }
}
