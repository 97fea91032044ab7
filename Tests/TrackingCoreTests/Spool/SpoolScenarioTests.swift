import Testing

/// Plays Tests/Scenarios/spool.
@Suite struct SpoolScenarioTests {
    @Test(arguments: ScenarioFile.names(of: "spool")) func scenario(name: String) throws {
        var talk = SpoolConversation()
        try ScenarioFile(name, of: "spool").play { words in try talk.happened(words) }
    }

    @Test func thereAreScenarios() { #expect(ScenarioFile.names(of: "spool").count >= 12) }
}
