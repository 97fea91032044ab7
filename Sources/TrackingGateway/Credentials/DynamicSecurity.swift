package import TrackingCore

/// The control of Mosquitto's dynamic security plugin: adds and deletes the clients of apps.
///
/// The client and its role have the id of the credential. The plugin lets the client connect with this client id only.
/// It ends the connections of a client that is deleted.
package struct DynamicSecurity: Sendable {
    /// The topic of requests to the plugin.
    package static let requests = "$CONTROL/dynamic-security/v1"
    /// The topic of the plugin's responses to the client that sent the request.
    package static let responses = "$CONTROL/dynamic-security/v1/response"
    /// The largest number of clients that one request deletes.
    static let batch = 100

    private let exchange: @Sendable ([UInt8]) async throws(TrackingError) -> [UInt8]

    /// Creates the control of the plugin of one broker.
    ///
    /// - Parameter exchange: Sends a request to the plugin, and returns its response.
    package init(exchange: @escaping @Sendable ([UInt8]) async throws(TrackingError) -> [UInt8]) {
        self.exchange = exchange
    }

    /// Adds the client of an app with its rights.
    ///
    /// - Throws: `notAuthorized` with the plugin's error; the errors of the exchange.
    func add(_ grants: WatcherGrants, password: String) async throws(TrackingError) {
        try await self.perform(Self.addition(of: grants, password: password), accepting: [])
    }

    /// Deletes the clients of apps and their roles, and ends their connections. A client that does not exist is no
    /// error.
    ///
    /// - Throws: `notAuthorized` with the plugin's error; the errors of the exchange.
    func delete(_ clients: [ClientID]) async throws(TrackingError) {
        for start in stride(from: 0, to: clients.count, by: Self.batch) {
            let part = clients[start..<min(start + Self.batch, clients.count)]
            try await self.perform(Self.deletion(of: Array(part)), accepting: ["Client not found", "Role not found"])
        }
    }

    /// The commands that add the client of an app: its role with the rights, and then the client.
    package static func addition(of grants: WatcherGrants, password: String) -> [JSONValue] {
        let name = JSONValue.text(grants.client.description)
        let read = grants.reads.flatMap { filter in
            ["subscribePattern", "publishClientReceive", "unsubscribePattern"].map { Self.rule($0, filter) }
        }
        let write = grants.writes.map { Self.rule("publishClientSend", $0) }
        return [
            .object(["command": .text("createRole"), "rolename": name, "acls": .list(read + write)]),
            .object([
                "command": .text("createClient"), "username": name, "clientid": name, "password": .text(password),
                "roles": .list([.object(["rolename": name])]),
            ]),
        ]
    }

    /// The commands that delete the clients of apps and their roles.
    static func deletion(of clients: [ClientID]) -> [JSONValue] {
        clients.flatMap { client -> [JSONValue] in
            let name = JSONValue.text(client.description)
            return [
                .object(["command": .text("deleteClient"), "username": name]),
                .object(["command": .text("deleteRole"), "rolename": name]),
            ]
        }
    }

    private static func rule(_ type: String, _ topic: String) -> JSONValue {
        .object(["acltype": .text(type), "topic": .text(topic), "priority": .number(0), "allow": .flag(true)])
    }

    private func perform(_ commands: [JSONValue], accepting accepted: Set<String>) async throws(TrackingError) {
        let response = try await self.exchange(JSONValue.object(["commands": .list(commands)]).json)
        try Self.check(response, count: commands.count, accepting: accepted)
    }

    /// Checks the response of the plugin to some commands.
    ///
    /// - Parameters:
    ///   - count: The number of commands.
    ///   - accepted: The errors that count as success.
    /// - Throws: `notAuthorized` with the first error of the response.
    static func check(_ response: [UInt8], count: Int, accepting accepted: Set<String>) throws(TrackingError) {
        let answers = (try? JSONValue(json: response, maximumBytes: 300_000))?["responses"]?.list ?? []
        for answer in answers {
            guard let error = answer["error"]?.text, !accepted.contains(error) else { continue }
            let command = answer["command"]?.text ?? "command"
            throw TrackingError(
                .notAuthorized,
                "the dynamic security plugin of the broker rejected \(command.prefix(40).description.printable): \(error.prefix(200).description.printable)"
            )
        }
        guard answers.count == count else {
            throw TrackingError(
                .notAuthorized,
                "the dynamic security plugin of the broker answered \(answers.count) of \(count) commands")
        }
    }
}
