import Testing

@testable import TrackingCore

/// Plays Tests/Scenarios/estimate.
@Suite struct EstimateScenarioTests {
    @Test(arguments: ScenarioFile.names(of: "estimate")) func scenario(name: String) throws {
        var talk = EstimateConversation()
        try ScenarioFile(name, of: "estimate").play { words in
            try Self.happen(words, &talk).map { talk.line($0) }
        }
    }

    @Test func thereAreScenarios() { #expect(ScenarioFile.names(of: "estimate").count >= 7) }

    /// `journey A north M [east M] [planned AT] [radius M] B …`, `clear`, `fix AT [north M] [east M] [accuracy M]`,
    /// `drive AT until AT north M speed M/S [east M]`: a fix each second northwards, `route NUMBER speed M/S`,
    /// `fail NUMBER`, `time AT`, `retained A arrived AT`, `received`.
    private static func happen(
        _ words: [String], _ talk: inout EstimateConversation
    ) throws -> [EstimateKeeper.Action] {
        let given = ScenarioWords(words)
        switch words[0] {
        case "journey": return talk.journey(try self.stops(words.dropFirst()))
        case "clear": return talk.journey(nil)
        case "fix":
            return talk.fix(
                at: try #require(Double(words[1])), north: try given.number("north") ?? 0,
                east: try given.number("east") ?? 0, accuracy: try given.number("accuracy"))
        case "drive":
            let start = try #require(Double(words[1]))
            let end = try #require(try given.number("until"))
            let speed = try #require(try given.number("speed"))
            let north = try given.number("north") ?? 0
            let east = try given.number("east") ?? 0
            return stride(from: start, through: end, by: 1).flatMap { time in
                talk.fix(at: time, north: north + speed * (time - start), east: east)
            }
        case "route":
            return try talk.route(try #require(Int(words[1])), speed: try #require(try given.number("speed")))
        case "fail": return talk.fail(try #require(Int(words[1])))
        case "time": return talk.time(try #require(Double(words[1])))
        case "retained":
            let time = try #require(try given.number("arrived"))
            talk.retained([Estimate.Stop(id: words[1], eta: Moment.at(time).wall, status: .arrived)])
            return []
        case "received": return talk.receivedRetained()
        default:
            Issue.record("'\(words[0])' is no input of an estimate keeper")
            return []
        }
    }

    /// A word in capitals begins a stop; pairs of a name and a number follow it.
    private static func stops(_ words: ArraySlice<String>) throws -> [Journey.Stop] {
        var groups: [[String]] = []
        for word in words {
            if word == word.uppercased(), Double(word) == nil { groups.append([]) }
            groups[groups.count - 1].append(word)
        }
        return try groups.map { group in
            let given = ScenarioWords(group)
            return Journey.Stop(
                id: group[0],
                location: EstimateConversation.place(
                    north: try given.number("north") ?? 0, east: try given.number("east") ?? 0),
                radius: Meters(try given.number("radius") ?? 150),
                planned: try given.number("planned").map { Moment.at($0).wall })
        }
    }
}
