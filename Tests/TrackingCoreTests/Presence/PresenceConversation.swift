import Testing

@testable import TrackingCore

/// A presence machine with text commands for its tests. Its answers are lines of text in a fixed order.
struct PresenceConversation {
    var machine: PresenceStateMachine
    var now = MonotonicTime(.zero)

    init(limit: Int = 50_000, isConnected: Bool = true) {
        self.machine = PresenceStateMachine(limit: limit)
        if isConnected { self.machine.connected(now: self.now) }
    }

    /// Lets time pass, deadline after deadline.
    mutating func wait(_ duration: Duration) -> [String] {
        let end = self.now.advanced(by: duration)
        var answers: [String] = []
        while let deadline = self.machine.nextDeadline, deadline <= end {
            self.now = max(self.now, deadline)
            answers += Self.text(self.machine.timerFired(now: self.now))
        }
        self.now = end
        return answers + Self.text(self.machine.timerFired(now: end))
    }

    mutating func connected() { self.machine.connected(now: self.now) }

    mutating func disconnected() { self.machine.disconnected() }

    /// A presence: `subscriber("w1", "a/0")`.
    mutating func subscriber(
        _ client: String, _ run: String, on trackable: String = "van", lease: Int = 90, since: Double = 1,
        retained: Bool = false
    ) throws -> [String] {
        try self.presence(.subscriber, client, run, trackable, lease, since, retained)
    }

    mutating func publisher(
        _ client: String, _ run: String, on trackable: String = "van", lease: Int = 90, since: Double = 1,
        retained: Bool = false
    ) throws -> [String] {
        try self.presence(.publisher, client, run, trackable, lease, since, retained)
    }

    mutating func cleared(_ kind: MemberKind, _ client: String, on trackable: String = "van") throws -> [String] {
        let id = try TrackableID(trackable)
        return Self.text(
            self.machine.received(
                nil, kind: kind, on: id, from: try ClientID(client), isRetained: false, now: self.now))
    }

    mutating func online(_ client: String, _ run: String, lease: Int = 90, retained: Bool = false) throws -> [String] {
        let (session, connection) = try Self.parse(run)
        let liveness = Liveness(
            status: .online(lease: .seconds(lease)), session: session, connection: connection)
        return Self.text(
            self.machine.received(liveness, from: try ClientID(client), isRetained: retained, now: self.now))
    }

    mutating func offline(
        _ client: String, _ run: String, remain: Int? = nil, retained: Bool = false
    ) throws -> [String] {
        let (session, connection) = try Self.parse(run)
        let liveness = Liveness(
            status: .offline, session: session, connection: connection,
            remainsPresentFor: remain.map { .seconds($0) })
        return Self.text(
            self.machine.received(liveness, from: try ClientID(client), isRetained: retained, now: self.now))
    }

    mutating func livenessCleared(_ client: String) throws -> [String] {
        Self.text(self.machine.received(nil, from: try ClientID(client), isRetained: false, now: self.now))
    }

    mutating func forget(_ trackable: String) throws -> [String] {
        Self.text(self.machine.forget(try TrackableID(trackable)))
    }

    func present(_ kind: MemberKind, on trackable: String = "van") throws -> [String] {
        self.machine.members(of: kind, on: try TrackableID(trackable))
            .map { "\($0.client) \($0.presence.session)/\($0.presence.connection)" }.sorted()
    }

    private mutating func presence(
        _ kind: MemberKind, _ client: String, _ run: String, _ trackable: String, _ lease: Int, _ since: Double,
        _ isRetained: Bool
    ) throws -> [String] {
        let (session, connection) = try Self.parse(run)
        let presence = Presence(
            kind: kind, session: session, connection: connection, lease: .seconds(lease), since: UnixTime(since))
        return Self.text(
            self.machine.received(
                presence, kind: kind, on: try TrackableID(trackable), from: try ClientID(client),
                isRetained: isRetained, now: self.now))
    }

    /// `s/3` is connection 3 of session `s`.
    private static func parse(_ run: String) throws -> (SessionID, Int) {
        let parts = run.split(separator: "/")
        let session = try #require(SessionID(String(parts.first ?? "")))
        return (session, parts.count > 1 ? try #require(Int(parts[1])) : 0)
    }

    /// The changes of several trackables come in the order of a set, so the lines are sorted.
    private static func text(_ changes: [PresenceStateMachine.Change]) -> [String] {
        changes.map { change in
            switch change {
            case .watch(let client): "watch \(client)"
            case .unwatch(let client): "unwatch \(client)"
            case .full(let client): "full \(client)"
            case .arrived(let member): "arrived \(self.text(member))"
            case .changed(let member): "changed \(self.text(member))"
            case .left(let member): "left \(self.text(member))"
            }
        }.sorted()
    }

    private static func text(_ member: Member) -> String {
        let presence = member.presence
        return "\(presence.kind.rawValue.lowercased()) \(member.client) \(presence.session)/\(presence.connection) "
            + "on \(member.trackable)"
    }
}
