import TrackingCore

/// The checks that a certification makes before it judges a broker: its addresses, its connections, and the user's rights.
extension Certification {
    /// The addresses of the broker that the certification uses.
    var addresses: [CertificateClient.Address] { self.clusters ? [.first, .second] : [.first] }

    /// Checks that every address can be reached, that the user may write and read the topics, and that two clients with
    /// different client ids can be connected at the same time.
    func checkConnections() async throws {
        try await self.checkAddresses()
        try await self.with(self.client("one")) { one in
            try await self.checkRights(of: one)
            try await self.with(self.client("two")) { two in
                _ = await two.publish([OutgoingMessage(self.topic("begin"), "1")], within: Self.patience)
                _ = await one.publish([OutgoingMessage(self.topic("begin"), "2")], within: Self.patience)
                guard one.read({ $0.losses.isEmpty }) else {
                    try await self.checkAddresses()
                    throw Self.oneConnection
                }
            }
        }
    }

    /// Checks that the broker accepts a connection at every address.
    ///
    /// - Throws: The reason why an address cannot be reached or refuses the connection.
    func checkAddresses() async throws {
        for address in self.addresses {
            var client = try self.client("check")
            client.address = address
            try await self.with(client) { _ in }
        }
    }

    /// Checks that the user of a client may write and read a topic of the certification.
    ///
    /// Brokers differ: some refuse a forbidden message, some close the connection, and some acknowledge the message and
    /// drop it.
    private func checkRights(of probe: Probe<Transport>) async throws {
        let topic = self.topic("begin")
        do throws(TrackingError) {
            try await self.subscribe(probe, [topic])
            try await probe.require(OutgoingMessage(topic, "0"), within: Self.patience)
            await probe.wait(self.pause) { $0.has(topic) || $0.isLost }
            if probe.read({ $0.has(topic) }) { return }
        } catch {
            guard error.code == .connectionLost, probe.read({ !$0.losses.isEmpty }) else { throw error }
        }
        // The message may be missing because the broker cannot be reached any more.
        try await self.checkAddresses()
        throw self.missingRight
    }

    private var missingRight: TrackingError {
        TrackingError(
            .notAuthorized,
            "cannot certify the broker: a message on a topic of \(self.root)/# did not return to the client that published it. The user may lack a right. Give the user the right to write and to read \(self.root)/# at the broker"
        )
    }

    private static var oneConnection: TrackingError {
        TrackingError(
            .takenOver,
            "cannot certify the broker: it ended the first of two connections with different client ids. It may use the name of the user as the client id (Mosquitto: use_username_as_clientid). Certify a listener without this setting"
        )
    }
}
