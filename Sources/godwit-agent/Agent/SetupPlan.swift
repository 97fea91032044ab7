import GodwitOptions
import TrackingControl
import TrackingCore
import TrackingMQTT

/// The changes of an agent's settings that a set-up link makes. They are computed, and can be shown to the user, before
/// any of them takes effect.
struct SetupPlan {
    /// The options that the set-up link changes, with their new values, by long name. The option for the password file
    /// is not among them.
    let values: [String: [String]?]
    /// The password to write to a password file: the token of the link, or the agent's present password if the broker
    /// or the user changes. `nil` if neither applies, so that no file is written.
    let password: String?
    /// The trackable that the agent shall track in place of all others; `nil` if the tracked trackables do not change.
    let trackable: TrackableID?
    /// The changes of settings as they are shown to the user. A changed password is listed without its value.
    let changes: [SettingChange]

    /// `true` if the set-up link changes the broker, the user or the password, so that the agent must connect again.
    var isNewConnection: Bool { self.password != nil || !self.values.isEmpty }

    /// Computes the changes that a set-up link makes to an agent's plan.
    ///
    /// A password is only sent to the broker and for the user for which it was given. A link to another broker, or for
    /// another user, therefore needs a token if the agent has a password.
    ///
    /// - Throws: `CommandFailure` if a part of the link is invalid, if the link has a token but no user is known, or if
    ///   the token is missing.
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
            let isOther = user != old?.user || !(addresses ?? []).allSatisfy(oldAddresses.contains)
            if isOther, request.token == nil, try plan.run.broker.hasPassword {
                throw TrackingError(
                    .invalidConfiguration,
                    """
                    the set-up link names another broker or user and has no token, and the agent's present password is \
                    not sent to another broker or for another user. Ask for a link with token=…
                    """)
            }
            let hasMoved = !changes.isEmpty || request.token != nil
            let place = addresses ?? oldAddresses
            self.values = hasMoved ? ["broker": place.map { BrokerAddress($0).of(user: user) }] : [:]
            // The new address replaces the old ones and the password in them, so an unchanged password is written to a
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
