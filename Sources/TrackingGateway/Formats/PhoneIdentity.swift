package import TrackingCore

/// The names that a request claims for its trackable. The token decides. The names only choose among the trackables
/// that the token allows.
package struct PhoneIdentity: Hashable, Sendable {
    /// The claimed names, in the order in which they are tried.
    package private(set) var claims: [String] = []

    /// Makes an identity without claimed names.
    package init() {}

    /// Adds the name of a device, unchanged.
    package mutating func add(device: String?) {
        if let device, !device.isEmpty, self.claims.count < 8 { self.claims.append(device) }
    }

    /// Adds OwnTracks' user and device: as `user-device`, and the device alone.
    package mutating func add(user: String?, device: String?) {
        guard let device, !device.isEmpty else { return }
        if let user, !user.isEmpty { self.add(device: "\(user)-\(device)") }
        self.add(device: device)
    }

    /// Adds the user and device of an OwnTracks topic, `owntracks/user/device`.
    package mutating func add(topic: String?) {
        let levels = topic?.split(separator: "/", omittingEmptySubsequences: false) ?? []
        guard levels.count == 3 else { return }
        self.add(user: String(levels[1]), device: String(levels[2]))
    }

    /// Returns the trackable of the request.
    ///
    /// - Throws: `invalidName` if the claimed names do not identify one trackable.
    package func trackable(of scope: TrackableScope) throws(TrackingError) -> TrackableID {
        switch scope {
        case .only(let ids):
            guard ids.count != 1 else { return ids[ids.startIndex] }
            for claim in self.claims {
                if let id = try? TrackableID(claim), ids.contains(id) { return id }
            }
            throw TrackingError(
                .invalidName,
                "this token publishes \(ids.count) trackables: say which, with ?device=ID at the end of the URL")
        case .all:
            guard let claim = self.claims.first else {
                throw TrackingError(
                    .invalidName, "this token publishes any trackable: say which, with ?device=ID at the end of the URL"
                )
            }
            return try TrackableID(claim)
        }
    }
}
