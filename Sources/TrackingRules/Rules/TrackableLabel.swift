package import TrackingCore

/// The name, icon and groups that an operator gives a trackable.
package struct TrackableLabel: Hashable, Sendable {
    /// The trackable.
    package var trackable: TrackableID
    /// The display name, at most 128 bytes; `nil` to show the id.
    package var name: String?
    /// The icon on the map, at most four characters, such as 🚐; `nil` for the default marker.
    package var icon: String?
    /// The names of the trackable's groups, sorted.
    package var groups: [String]

    /// Creates a label without name, icon and groups.
    package init(_ trackable: TrackableID) {
        self.trackable = trackable
        self.groups = []
    }

    /// The most groups of one trackable.
    package static let maximumGroups = 32

    /// Sets one member, as `name=Van 7`, `icon=van` or `group=north`; a group is added, and `group=-north` takes it away. An empty
    /// name, icon or group clears it.
    ///
    /// - Throws: `invalidConfiguration` that says what is not as it should be.
    package mutating func set(_ assignment: String) throws(TrackingError) {
        let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw TrackingError(.invalidConfiguration, "'\(assignment.prefix(80))' is not name=…, icon=… or group=…")
        }
        let value = String(parts[1])
        try Self.check(value, of: parts[0])
        switch parts[0] {
        case "name": self.name = value.isEmpty ? nil : value
        case "icon": try self.setIcon(value)
        case "group": try self.setGroup(value)
        default:
            throw TrackingError(
                .invalidConfiguration, "'\(parts[0].prefix(40))' cannot be set: name, icon or group can")
        }
    }

    /// Checks a name, an icon or a group.
    ///
    /// - Throws: `invalidConfiguration`.
    static func check(_ value: String, of member: some StringProtocol) throws(TrackingError) {
        guard value.utf8.count <= 128, value.isPlainText else {
            throw TrackingError(
                .invalidConfiguration,
                "a \(member.prefix(20)) has at most 128 bytes, no control characters and none that turn the direction of text"
            )
        }
    }

    private mutating func setIcon(_ value: String) throws(TrackingError) {
        guard value.count <= 4 else {
            throw TrackingError(.invalidConfiguration, "an icon has at most four characters, such as 🚐")
        }
        self.icon = value.isEmpty ? nil : value
    }

    private mutating func setGroup(_ value: String) throws(TrackingError) {
        guard !value.isEmpty else { return self.groups = [] }
        guard !value.hasPrefix("-") else { return self.groups.removeAll { $0 == value.dropFirst() } }
        guard !self.groups.contains(value) else { return }
        guard self.groups.count < Self.maximumGroups else {
            throw TrackingError(.invalidConfiguration, "a trackable is in at most \(Self.maximumGroups) groups")
        }
        self.groups.append(value)
        self.groups.sort()
    }

    /// The label as a JSON object of the HTTP API, with the id.
    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "id": .text(self.trackable.rawValue), "groups": .list(self.groups.map { .text($0) }),
        ]
        members["name"] = self.name.map { .text($0) }
        members["icon"] = self.icon.map { .text($0) }
        return .object(members)
    }
}
