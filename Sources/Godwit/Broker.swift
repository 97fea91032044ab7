public import TrackingCore
public import TrackingMQTT
public import TrackingPublisher
public import TrackingSubscriber

extension AssetPublisher where Transport == MQTTTransport {
    /// Creates a publisher that tracks nothing yet. By default, its log is a file, so that unacknowledged records
    /// outlive the program.
    ///
    ///     let publisher = try AssetPublisher(broker: "mqtt://127.0.0.1:1883", client: "van-7-box")
    ///     publisher.track("van-7")
    ///     try await publisher.run(reading: .gpsd(), battery: .system)
    ///
    /// - Parameters:
    ///   - broker: The broker's address: `mqtt[s]://[user[:password]@]host[:port]`.
    ///   - client: The client id, which names the device: 1 to 64 characters of `A-Z a-z 0-9 _ -`. The broker allows
    ///     one connection for each client id.
    ///   - credentials: The function that returns user and password for each attempt to connect; `nil` to use those
    ///     in the broker's address.
    ///   - log: The place where the log of unacknowledged records is stored.
    /// - Throws: `invalidConfiguration` for a malformed address; `invalidName` for a malformed client id;
    ///   `inputUnreadable` when the state folder cannot be created.
    public convenience init(
        broker: String, client: String, credentials: MQTTCredentialsProvider? = nil, log: PublisherLog = .stateFolder
    ) throws(TrackingError) {
        let configuration = PublisherConfiguration(client: try ClientID(client), session: .newRun)
        self.init(
            configuration: configuration,
            transport: try MQTTTransport(broker: broker, credentials, for: configuration),
            spool: try log.makeStorage(for: configuration.client))
    }
}

extension AssetSubscriber where Transport == MQTTTransport {
    /// Creates a subscriber that watches no trackable yet.
    ///
    ///     let desk = try AssetSubscriber(broker: "mqtt://127.0.0.1:1883", client: "desk")
    ///     let updates = desk.locations(of: "van-7", requesting: .high(every: .seconds(1)))
    ///     for await update in updates { print(update.coordinate) }
    ///
    /// - Parameters:
    ///   - broker: The broker's address: `mqtt[s]://[user[:password]@]host[:port]`.
    ///   - client: The client id, which names the program: 1 to 64 characters of `A-Z a-z 0-9 _ -`. The broker allows
    ///     one connection for each client id.
    ///   - credentials: The function that returns user and password for each attempt to connect; `nil` to use those
    ///     in the broker's address.
    /// - Throws: `invalidConfiguration` for a malformed address; `invalidName` for a malformed client id.
    public convenience init(
        broker: String, client: String, credentials: MQTTCredentialsProvider? = nil
    ) throws(TrackingError) {
        let configuration = SubscriberConfiguration(client: try ClientID(client), session: .newRun)
        self.init(
            configuration: configuration,
            transport: try MQTTTransport(broker: broker, credentials, for: configuration))
    }
}

extension SessionID {
    /// A new random session id, which identifies this run of the program to the other clients.
    fileprivate static var newRun: SessionID {
        var generator = SystemRandomNumberGenerator()
        return .random(using: &generator)
    }
}

extension MQTTTransport {
    /// Creates the MQTT connection of a publisher or subscriber to the broker at the address `broker`. User and
    /// password come from the provider, or from the address if there is no provider.
    fileprivate convenience init(
        broker: String, _ provider: MQTTCredentialsProvider?, for member: some MemberConfiguration
    ) throws(TrackingError) {
        let (endpoint, credentials) = try MQTTEndpoint.parse(broker)
        var configuration = MQTTConfiguration(endpoints: [endpoint], for: member)
        configuration.credentials = credentials
        configuration.credentialsProvider = provider
        try self.init(configuration: configuration)
    }
}
