import Testing

/// Plays Tests/Scenarios/trackable.
@Suite struct TrackableScenarioTests {
    @Test(arguments: ScenarioFile.names(of: "trackable")) func scenario(name: String) throws {
        var talk = try TrackableConversation()
        try ScenarioFile(name, of: "trackable").play { words in try talk.happen(words) }
    }

    @Test func thereAreScenarios() { #expect(ScenarioFile.names(of: "trackable").count >= 8) }
}
