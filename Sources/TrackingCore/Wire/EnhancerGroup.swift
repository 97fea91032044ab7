/// The membership of an enhancer in a group, as the enhancer announces it in its liveness.
///
/// The members of a group divide the trackables among themselves. A member that joins serves no trackable until each
/// other member has announced that it counts the joining member as present.
public struct EnhancerGroup: Hashable, Sendable {
    /// The maximum number of members of a group.
    public static let maximumMembers = 32

    /// The name of the group. It has the form of a client id.
    public var name: ClientID
    /// The connections of the other members that this member counts as present, each as `session/connection`.
    public var members: [String]

    /// Makes the announcement of a member.
    ///
    /// - Parameters:
    ///   - name: The name of the group.
    ///   - members: The connections of the other members, each as `session/connection`.
    public init(name: ClientID, members: [String] = []) {
        self.name = name
        self.members = members
    }
}

extension JSONWriter {
    mutating func member(_ name: StaticString, _ group: EnhancerGroup) {
        self.name(name)
        self.raw("{")
        self.member("name", group.name.rawValue)
        self.name("members")
        self.raw("[")
        for member in group.members.prefix(EnhancerGroup.maximumMembers) {
            self.separate()
            self.text(member)
        }
        self.raw("]}")
    }
}

extension JSONScanner {
    /// Reads the membership of an enhancer in a group. Further members of the object are ignored.
    mutating func enhancerGroup() throws(Refusal) -> EnhancerGroup {
        var name: ClientID?
        var members: [String] = []
        try self.beginObject()
        while try self.nextMember() {
            switch self.key {
            case "name": name = try self.text("a string of 1 to 64 of A-Z a-z 0-9 _ -") { try? ClientID($0) }
            case "members": members = try self.groupMembers()
            default: try self.skipValue()
            }
        }
        guard let name else { throw self.missing("name") }
        return EnhancerGroup(name: name, members: members)
    }

    private mutating func groupMembers() throws(Refusal) -> [String] {
        var members: [String] = []
        try self.beginArray()
        while try self.nextElement() {
            guard members.count < EnhancerGroup.maximumMembers else {
                throw self.refuse("members must have at most \(EnhancerGroup.maximumMembers) elements; found more")
            }
            members.append(try self.text())
        }
        return members
    }
}
