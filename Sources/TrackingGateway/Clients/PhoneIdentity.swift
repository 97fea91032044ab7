package import TrackingCore

/// Whose request it is. The token says so; what a request claims only chooses where the token leaves a choice.
package struct PhoneIdentity: Hashable, Sendable {
    /// The names that a request claims, the one to try first first.
    package private(set) var claims: [String] = []

    /// Makes one that claims nothing.
    package init() {}

    /// Takes in a device's name as it is.
    package mutating func add(device: String?) {
        if let device, !device.isEmpty, self.claims.count < 8 { self.claims.append(device) }
    }

    /// Takes in OwnTracks' user and device: as `user-device`, and the device by itself.
    package mutating func add(user: String?, device: String?) {
        guard let device, !device.isEmpty else { return }
        if let user, !user.isEmpty { self.add(device: "\(user)-\(device)") }
        self.add(device: device)
    }

    /// Takes in an OwnTracks topic: `owntracks/user/device`.
    package mutating func add(topic: String?) {
        let levels = topic?.split(separator: "/", omittingEmptySubsequences: false) ?? []
        guard levels.count == 3 else { return }
        self.add(user: String(levels[1]), device: String(levels[2]))
    }

    /// The trackable that the request is for.
    ///
    /// - Throws: `invalidName` where the claims do not choose one.
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
