import GodwitOptions
import TrackingControl
import TrackingCore
import TrackingMQTT

/// The changes of an agent's settings that a set-up link makes, computed before any of them is made.
struct SetupPlan {
    /// The options to set, by long name, without the password file.
    let values: [String: [String]?]
    /// The password that is written to a file of its own; `nil` for no change of the password.
    let password: String?
    /// The only trackable to track from now on; `nil` for no change.
    let trackable: TrackableID?
    /// The changes as they are shown to the user, with the password as a change without values.
    let changes: [SettingChange]

    /// `true` if the broker, the user or the password changes, so that the agent connects again.
    var isNewConnection: Bool { self.password != nil || !self.values.isEmpty }

    /// Computes the changes that a set-up link makes to an agent's plan.
    ///
    /// - Throws: `CommandFailure` that names the missing or invalid part of the link.
    init(_ request: SetupRequest, for plan: AgentPlan) throws(CommandFailure) {
        do throws(TrackingError) {
            let old = try plan.run.broker.user
            let oldAddresses = try plan.run.broker.addresses.map(\.description)
            let user = request.user ?? old?.user
            if request.token != nil, user == nil {
                throw TrackingError(
                    .invalidConfiguration,
                    "the set-up link has a token but no user, and the agent has no user either. Ask for a link with user=…"
                )
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
            // The new address replaces the old one and the password in it, so an unchanged password is written to a
            // file.
            self.password = request.token ?? (hasMoved ? old?.password : nil)
            if request.token != nil { changes.append(.init(key: "password", before: nil, after: nil)) }
            let tracked = plan.tracked.map(\.id)
            self.trackable = request.trackable.flatMap { tracked == [$0] ? nil : $0 }
            if let trackable = self.trackable {
                let before = tracked.map(\.rawValue).joined(separator: " ")
                changes.append(.init(key: "trackable", before: before, after: trackable.rawValue))
            }
            self.changes = changes
        } catch {
            throw CommandFailure(error)
        }
    }
}
