package import TrackingCore

/// The names by which an HTTP request or an OwnTracks topic identifies its trackable. The request's token decides which
/// trackables the sender may publish; the names select one of these.
package struct PhoneIdentity: Hashable, Sendable {
    /// The names in the request, at most eight, in the order in which they are tried.
    package private(set) var claims: [String] = []
    /// The id in the parameter `device` of the request, which alone identifies the trackable; `nil` without it.
    package private(set) var selection: String?

    /// Creates an identity without names. The names in a request or topic are added to it afterwards.
    package init() {}

    /// Selects a trackable by the parameter `device` of a request. A missing or empty value selects none.
    package mutating func select(device: String?) {
        if let device, !device.isEmpty { self.selection = device }
    }

    /// Adds the name of a device as a name of the trackable, unchanged. A missing or empty name is ignored, and so is
    /// every name after the eighth.
    package mutating func add(device: String?) {
        if let device, !device.isEmpty, self.claims.count < 8 { self.claims.append(device) }
    }

    /// Adds the names from OwnTracks' user and device: `user-device`, and the device alone.
    package mutating func add(user: String?, device: String?) {
        guard let device, !device.isEmpty else { return }
        if let user, !user.isEmpty { self.add(device: "\(user)-\(device)") }
        self.add(device: device)
    }

    /// Adds the names from an OwnTracks topic, `owntracks/user/device`.
    package mutating func add(topic: String?) {
        let levels = topic?.split(separator: "/", omittingEmptySubsequences: false) ?? []
        guard levels.count == 3 else { return }
        self.add(user: String(levels[1]), device: String(levels[2]))
    }

    /// Returns the trackable of the request: the selected one, or else the one that the names identify. If the token
    /// may publish only one trackable, the names are ignored.
    ///
    /// - Parameter scope: The trackables that the request's token may publish.
    /// - Throws: `notAuthorized` if the token may not publish the selected trackable; `invalidName` if the selected id
    ///   is invalid, or if the names do not identify a trackable that the token may publish.
    package func trackable(of scope: TrackableScope) throws(TrackingError) -> TrackableID {
        if let selection = self.selection { return try Self.trackable(selected: selection, of: scope) }
        switch scope {
        case .only(let ids):
            guard ids.count != 1 else { return ids[ids.startIndex] }
            for claim in self.claims {
                if let id = try? TrackableID(claim), ids.contains(id) { return id }
            }
            throw TrackingError(
                .invalidName,
                "cannot tell which trackable the request is about: its token may publish \(ids.count) trackables. Add ?device=ID at the end of the URL"
            )
        case .all:
            guard let claim = self.claims.first else {
                throw TrackingError(
                    .invalidName,
                    "cannot tell which trackable the request is about: its token may publish any trackable. Add ?device=ID at the end of the URL"
                )
            }
            return try TrackableID(claim)
        }
    }

    private static func trackable(
        selected text: String, of scope: TrackableScope
    ) throws(TrackingError) -> TrackableID {
        let id: TrackableID
        do throws(TrackingError) { id = try TrackableID(text) } catch {
            throw TrackingError(.invalidName, "cannot use the parameter device: \(error.message)")
        }
        guard scope.contains(id) else {
            throw TrackingError(
                .notAuthorized, "this token may not publish '\(id)', the trackable in the parameter device")
        }
        return id
    }
}
