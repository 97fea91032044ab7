import Testing

@testable import TrackingCore

/// Plays Tests/Scenarios/presence.
@Suite struct PresenceScenarioTests {
    @Test(arguments: ScenarioFile.names(of: "presence")) func scenario(name: String) throws {
        var talk = PresenceConversation(isConnected: false)
        try ScenarioFile(name, of: "presence").play { words in try Self.happen(words, &talk) }
    }

    @Test func thereAreScenarios() { #expect(ScenarioFile.names(of: "presence").count >= 6) }

    /// `subscriber w1 a/0 [on van] [lease 90] [since 1] [retained|cleared]`, `online w1 a/0 …`,
    /// `offline w1 a/0 [remain 15] …`, `connect`, `disconnect`, `wait 2.5`, `who van`.
    private static func happen(_ words: [String], _ talk: inout PresenceConversation) throws -> [String] {
        let lease = try self.value("lease", words).map { try #require(Int($0)) } ?? 90
        let since = try self.value("since", words).map { try #require(Double($0)) } ?? 1
        let trackable = self.value("on", words) ?? "van"
        let isRetained = words.contains("retained")
        switch words[0] {
        case "connect": talk.connected()
        case "disconnect": talk.disconnected()
        case "wait": return talk.wait(.seconds(try #require(Double(words[1]))))
        case "who":
            let members = try MemberKind.allCases.flatMap { kind in
                try talk.present(kind, on: words[1]).map { "\(kind.rawValue.lowercased()) \($0)" }
            }
            return members.isEmpty ? ["nobody"] : members
        case "subscriber" where words.contains("cleared"): return try talk.cleared(.subscriber, words[1], on: trackable)
        case "publisher" where words.contains("cleared"): return try talk.cleared(.publisher, words[1], on: trackable)
        case "subscriber":
            return try talk.subscriber(
                words[1], words[2], on: trackable, lease: lease, since: since, retained: isRetained)
        case "publisher":
            return try talk.publisher(
                words[1], words[2], on: trackable, lease: lease, since: since, retained: isRetained)
        case "online": return try talk.online(words[1], words[2], lease: lease, retained: isRetained)
        case "offline" where words.contains("cleared"): return try talk.livenessCleared(words[1])
        case "offline":
            let remain = try self.value("remain", words).map { try #require(Int($0)) }
            return try talk.offline(words[1], words[2], remain: remain, retained: isRetained)
        default: Issue.record("'\(words[0])' is nothing that happens to a presence machine")
        }
        return []
    }

    private static func value(_ name: String, _ words: [String]) -> String? {
        words.firstIndex(of: name).flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
    }
}
