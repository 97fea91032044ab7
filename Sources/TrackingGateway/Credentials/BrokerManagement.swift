import FoundationEssentials
package import TrackingCore
import TrackingHTTP

/// The HTTP management API of RabbitMQ, which closes the connections of a user.
///
/// RabbitMQ 3.10 does not end an MQTT connection when its token expires.
package struct BrokerManagement: Sendable {
    /// The address of the API without user and slash at the end, such as `http://127.0.0.1:15672`.
    private let base: String
    private let user: String
    private let password: @Sendable () throws(TrackingError) -> String
    private let client = HTTPClient()
    /// The largest number of users whose connections are closed at the same time: the number of connections that the
    /// HTTP client opens to one host.
    private static let parallelUsers = 8

    /// Reads the address of the API, `http[s]://user@host:port`.
    ///
    /// - Parameters:
    ///   - address: The address of the API, with the user.
    ///   - password: Returns the password of the user, anew for each request.
    /// - Throws: `invalidConfiguration` with the required form.
    package init(
        _ address: String, password: @escaping @Sendable () throws(TrackingError) -> String
    ) throws(TrackingError) {
        let form = #/(https?:\/\/)([A-Za-z0-9._-]+)@((?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?)\/?/#
        guard address.utf8.count <= 1000, let match = address.wholeMatch(of: form) else {
            throw TrackingError(
                .invalidConfiguration,
                "the address of the broker's management must be like http://user@127.0.0.1:15672, without a password")
        }
        self.base = "\(match.1)\(match.3)"
        self.user = String(match.2)
        self.password = password
    }

    /// Closes every connection of these users, of several users at the same time. A user without connections is no
    /// error. After an error, the connections of further users are not closed.
    ///
    /// - Throws: `brokerUnreachable` if the API does not answer; `notAuthorized` if it rejects the request; the error
    ///   of the password.
    func closeConnections(of users: [ClientID]) async throws(TrackingError) {
        let failure = await withTaskGroup(of: TrackingError?.self) { group -> TrackingError? in
            for (index, user) in users.enumerated() {
                if index >= Self.parallelUsers, let failure = await group.next() ?? nil { return failure }
                group.addTask {
                    do throws(TrackingError) { try await self.closeConnections(of: user) } catch { return error }
                    return nil
                }
            }
            return await group.first { $0 != nil } ?? nil
        }
        if let failure { throw failure }
    }

    private func closeConnections(of user: ClientID) async throws(TrackingError) {
        let login = Data("\(self.user):\(try self.password())".utf8).base64EncodedString()
        let request = HTTPClient.Request(
            "\(self.base)/api/connections/username/\(user)", method: .delete,
            headers: [("Authorization", "Basic \(login)"), ("X-Reason", "the credential has ended")])
        let status: Int
        do {
            status = try await self.client.exchange(request, within: .seconds(5), upTo: 65_536).status
        } catch {
            throw TrackingError(
                .brokerUnreachable,
                "cannot reach the broker's management at \(self.base): \(error). Check the address, and that the broker runs with rabbitmq_management"
            )
        }
        guard (200..<300).contains(status) || status == 404 else {
            guard status == 401 || status == 403 else {
                throw TrackingError(
                    .brokerUnreachable,
                    "the broker's management at \(self.base) answered \(status). Check the broker and its log")
            }
            throw TrackingError(
                .notAuthorized,
                "the broker's management at \(self.base) answered \(status): the user '\(self.user)' must be an administrator of the broker. Check the password"
            )
        }
    }
}
