import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingMQTT
import TrackingRuntime
import Synchronization

/// Sends requests to Mosquitto's dynamic security plugin, each over a connection of its own.
///
/// The requests of one program are sent one after the other: a broker that uses the user name as the client id would
/// end the first of two connections.
final class DynamicSecurityConnection: Sendable {
    /// The longest time from the connection attempt to the response.
    private static let patience = Duration.seconds(10)

    private let options: BrokerOptions
    private let isBusy = Mutex(false)
    private let changed = WakeSignal()
    private let clock = DeviceClock()

    /// Creates a connection that connects for each request.
    ///
    /// - Parameter options: The address of the broker, with an administrator of the plugin as the user.
    init(options: BrokerOptions) { self.options = options }

    /// Sends a request, and returns the response of the plugin.
    ///
    /// - Throws: `brokerUnreachable` without a response in time; the reason why there is no connection; the broker's
    ///   refusal.
    func exchange(_ request: [UInt8]) async throws(TrackingError) -> [UInt8] {
        let deadline = self.clock.moment.now.advanced(by: Self.patience)
        let isFree = await self.changed.wait(until: deadline) {
            self.isBusy.withLock { isBusy in
                defer { isBusy = true }
                return !isBusy
            }
        }
        guard isFree else { throw Self.noResponse }
        defer {
            self.isBusy.withLock { $0 = false }
            self.changed.notify()
        }
        var options = self.options
        // A client id of its own, so that the connections of two programs do not end each other.
        options.clientID = "godwit-credentials-\(UInt32.random(in: .min ... .max))"
        let client = try options.client(try options.identity())
        do {
            return try await Self.response(to: request, client)
        } catch let error as TrackingError {
            throw error
        } catch {
            throw Self.noResponse
        }
    }

    private static var noResponse: TrackingError {
        TrackingError(
            .brokerUnreachable,
            "the dynamic security plugin of the broker did not respond within 10 s. Check that the broker loads the plugin, and that the user is an administrator of it"
        )
    }

    private static func response(to request: [UInt8], _ client: MQTTClient) async throws -> [UInt8] {
        let response = Mutex<[UInt8]?>(nil)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            try await Race.run {
                try await client.withSubscription(to: [DynamicSecurity.responses]) { messages in
                    try await client.publish(
                        OutgoingMessage(topic: DynamicSecurity.requests, payload: request, isRetained: false))
                    for try await message in messages {
                        response.withLock { $0 = Array(message.payload) }
                        return
                    }
                }
            } or: {
                try await Task.sleep(for: Self.patience)
            }
            await client.close(within: .seconds(1))
            try await group.next()
        }
        guard let bytes = response.withLock({ $0 }) else { throw Self.noResponse }
        return bytes
    }
}
