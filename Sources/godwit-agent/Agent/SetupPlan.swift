import GodwitOptions
import TrackingControl
import TrackingCore
import TrackingMQTT

/// What a set-up link changes: decided before anything is done.
struct SetupPlan {
    /// Options to set, the password's file apart.
    let values: [String: [String]?]
    /// The password to keep in a file of its own; `nil` leaves it where it is.
    let password: String?
    /// What is carried alone from then on; `nil` leaves that alone.
    let trackable: TrackableID?
    /// What there is to tell.
    let changes: [SettingChange]

    /// Whether the agent connects anew.
    var isNewConnection: Bool { self.password != nil || !self.values.isEmpty }

    /// - Throws: `invalidArguments` that says what is missing.
    init(_ request: SetupRequest, for plan: AgentPlan) throws(CommandFailure) {
        do throws(TrackingError) {
            let old = try plan.run.broker.user
            let oldAddresses = try plan.run.broker.addresses.map(\.description)
            let user = request.user ?? old?.user
            if request.token != nil, user == nil {
                throw TrackingError(.invalidConfiguration, "the link has a token and no user, and none is known here")
            }
            var changes: [SettingChange] = []
            let addresses = try request.broker.map { (url) throws(TrackingError) in
                [try MQTTEndpoint.parse(url).endpoint.description]
            }
            if let addresses, addresses != oldAddresses {
                changes.append(.init(key: "broker", before: oldAddresses.joined(separator: " "), after: addresses[0]))
            }
            if let name = request.user, name != old?.user {
                changes.append(.init(key: "user", before: old?.user, after: name))
            }
            let hasMoved = !changes.isEmpty || request.token != nil
            let place = addresses ?? oldAddresses
            self.values = hasMoved ? ["broker": place.map { BrokerAddress($0).of(user: user) }] : [:]
            // A password in an address would be lost with it.
            self.password = request.token ?? (hasMoved ? old?.password : nil)
            if request.token != nil { changes.append(.init(key: "password", before: nil, after: nil)) }
            let carried = plan.carried.map(\.id)
            self.trackable = request.trackable.flatMap { carried == [$0] ? nil : $0 }
            if let trackable = self.trackable {
                let before = carried.map(\.rawValue).joined(separator: " ")
                changes.append(.init(key: "trackable", before: before, after: trackable.rawValue))
            }
            self.changes = changes
        } catch {
            throw CommandFailure(error)
        }
    }
}
