import GodwitOptions
import TrackingCore
import TrackingGateway

/// The list of access tokens that `godwit token list` prints, or of share links that `godwit share list` prints.
struct GrantTable {
    private let grants: [AccessGrant]
    private let now: UnixTime

    /// Creates the list that is printed, from tokens or from share links. Their states, such as expired, are those at
    /// the time `now`.
    init(_ grants: [AccessGrant], now: UnixTime) { (self.grants, self.now) = (grants, now) }

    /// Returns the list of tokens or share links as a table for people, or as one JSON object a line.
    func text(_ format: ListFormat) -> String {
        switch format {
        case .text: self.table.text(limit: Terminal.tableWidth)
        case .json: self.grants.map(self.json).joined()
        }
    }

    private var table: TextTable {
        // Links have no rights of their own: each shows one trackable, which its name contains.
        let hasRights = self.grants.contains { $0.kind == .token }
        var columns: [TextColumn] = [.value("number"), .text("name", cutTo: 16), .value("state", .left)]
        if hasRights {
            columns += [
                .text("publishes", cutTo: 12), .text("reads", cutTo: 12), .value("admin", .left),
                .text("limits", cutTo: 12, omission: 2),
            ]
        }
        let hasStops = self.grants.contains { $0.stop != nil }
        if hasStops { columns.append(.text("stop", cutTo: 12)) }
        columns += [.value("begins", .left, omission: 1), .value("ends", .left, omission: 3)]
        var table = TextTable(columns)
        for grant in self.grants { table.append(self.cells(grant, hasRights: hasRights, hasStops: hasStops)) }
        return table
    }

    private func cells(_ grant: AccessGrant, hasRights: Bool, hasStops: Bool) -> [String] {
        var cells = ["\(grant.number)", grant.name, grant.state(at: self.now).rawValue]
        if hasRights {
            let limits = grant.limits.words + (grant.once.map { ["one sign-in (\($0.rawValue))"] } ?? [])
            cells += [
                grant.publishes.description, grant.readable, grant.isAdmin ? "yes" : "no",
                limits.isEmpty ? TextTable.none : limits.joined(separator: ", "),
            ]
        }
        if hasStops { cells.append(grant.stop ?? TextTable.none) }
        return cells + [TimeText.localDate(grant.begins), grant.ends.map(TimeText.localDate) ?? "never"]
    }

    private func json(_ grant: AccessGrant) -> String {
        var members: [String: JSONValue] = [
            "number": .number(Double(grant.number)), "name": .text(grant.name), "publishes": grant.publishes.value,
            "reads": grant.reads.value, "admin": .flag(grant.isAdmin), "begins": .number(grant.begins.seconds),
            "state": .text(grant.state(at: self.now).rawValue),
        ]
        members["rateLimit"] = grant.limits.requestsPerSecond.map { .number($0) }
        members["maxBody"] = grant.limits.bodyBytes.map { .number(Double($0)) }
        members["once"] = grant.once.map { .text($0.rawValue) }
        members["stop"] = grant.stop.map { .text($0) }
        members["ends"] = grant.ends.map { .number($0.seconds) }
        if !grant.readGroups.isEmpty { members["readGroups"] = .list(grant.readGroups.sorted().map { .text($0) }) }
        return String(decoding: JSONValue.object(members).json, as: UTF8.self) + "\n"
    }
}

extension AccessGrant {
    /// The trackables and groups that the token may read, as text for people.
    fileprivate var readable: String {
        guard self.reads != .all, !self.readGroups.isEmpty else { return self.reads.description }
        let ids = self.reads == .only([]) ? [] : [self.reads.description]
        return (ids + self.readGroups.sorted().map { "group \($0)" }).joined(separator: ", ")
    }
}
