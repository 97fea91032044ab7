package import TrackingCore

/// The label of a trackable: the name, icon and groups that a person gives the trackable for the map and the rules.
package struct TrackableLabel: Hashable, Sendable {
    /// The trackable that the label belongs to.
    package var trackable: TrackableID
    /// The display name of the trackable, at most 128 bytes; `nil` to show the id.
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

    /// The largest number of groups that one trackable can be in.
    package static let maximumGroups = 32

    /// Changes one part of the label: `name=Van 7` sets the name, `icon=van` the icon, `group=north` adds the trackable
    /// to the group, and `group=-north` removes it from the group. An empty name or icon removes the name or icon; an
    /// empty group removes the trackable from all groups.
    ///
    /// - Throws: `invalidConfiguration` that names the invalid part of the assignment.
    package mutating func set(_ assignment: String) throws(TrackingError) {
        let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot change the label: '\(assignment.prefix(80))' is not of the form name=…, icon=… or group=…")
        }
        let value = String(parts[1])
        try Self.check(value, of: parts[0])
        switch parts[0] {
        case "name": self.name = value.isEmpty ? nil : value
        case "icon": try self.setIcon(value)
        case "group": try self.setGroup(value)
        default:
            throw TrackingError(
                .invalidConfiguration,
                "cannot change the label: '\(parts[0].prefix(40))' is unknown; use name, icon or group")
        }
    }

    /// Checks the text of a name, an icon or a group.
    ///
    /// - Parameter member: The word for the text in an error, such as `name`.
    /// - Throws: `invalidConfiguration` for more than 128 bytes, for control characters, and for characters that change
    ///   the direction of text.
    static func check(_ value: String, of member: some StringProtocol) throws(TrackingError) {
        guard value.utf8.count <= 128, value.isPlainText else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot use the \(member.prefix(20)): it must have at most 128 bytes, no control characters, and no characters that change the direction of text"
            )
        }
    }

    /// `true` for a label without name, icon and groups.
    package var isEmpty: Bool { self.name == nil && self.icon == nil && self.groups.isEmpty }

    /// Sets the name, the icon and the groups from a JSON object, such as
    /// `{"name":"Van 7","icon":"🚐","groups":["north"]}`. A member that is missing removes its part of the label, and
    /// `id` is ignored.
    ///
    /// - Throws: `invalidConfiguration` that names the invalid or unknown member.
    package mutating func set(json: JSONValue) throws(TrackingError) {
        guard let members = json.object, members["name"].map({ $0.text != nil }) ?? true,
            members["icon"].map({ $0.text != nil }) ?? true,
            members["groups"].map({ $0.list?.allSatisfy { $0.text != nil } == true }) ?? true
        else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot change the label: it must be an object with the strings name and icon, and the list groups of strings"
            )
        }
        try json.checkMembers(["id", "name", "icon", "groups"], of: "the label")
        (self.name, self.icon, self.groups) = (nil, nil, [])
        for member in ["name", "icon"] { try self.set("\(member)=\(members[member]?.text ?? "")") }
        for group in members["groups"]?.list ?? [] { try self.add(group: group.text ?? "") }
    }

    private mutating func setIcon(_ value: String) throws(TrackingError) {
        guard value.count <= 4 else {
            throw TrackingError(
                .invalidConfiguration, "cannot use the icon: it must have at most four characters, such as 🚐")
        }
        self.icon = value.isEmpty ? nil : value
    }

    private mutating func setGroup(_ value: String) throws(TrackingError) {
        guard !value.isEmpty else { return self.groups = [] }
        guard !value.hasPrefix("-") else { return self.groups.removeAll { $0 == value.dropFirst() } }
        try self.add(group: value)
    }

    /// Adds the trackable to a group.
    ///
    /// - Throws: `invalidConfiguration` for an invalid or empty name, and for too many groups.
    package mutating func add(group value: String) throws(TrackingError) {
        try Self.check(value, of: "group")
        guard !value.isEmpty else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot add the trackable to a group: the group's name is empty. Give the group a name")
        }
        guard !self.groups.contains(value) else { return }
        guard self.groups.count < Self.maximumGroups else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot add the trackable to group '\(value)': it is in \(Self.maximumGroups) groups, which is the limit; remove it from one first"
            )
        }
        self.groups.append(value)
        self.groups.sort()
    }

    /// The label as a JSON object of the HTTP API, including the trackable's id.
    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "id": .text(self.trackable.rawValue), "groups": .list(self.groups.map { .text($0) }),
        ]
        members["name"] = self.name.map { .text($0) }
        members["icon"] = self.icon.map { .text($0) }
        return .object(members)
    }
}
