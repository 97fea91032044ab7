import ArgumentParser
import Foundation
import Testing

@testable import GodwitOptions
@testable import godwit_agent

/// The agent's profiles and the options of Overland are as docs/ describes them.
@Suite struct ProfilePageTests {
    private static func page(_ name: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "docs/\(name)"), encoding: .utf8)
    }

    /// The rows of the table of profiles: the name, and its keys as options.
    private static func rows() throws -> [String: [String]] {
        let section = try self.page("reference/capture.md").components(separatedBy: "\n## Profiles\n")[1]
            .components(separatedBy: "\n## ")[0]
        let rows = section.split(separator: "\n").compactMap { line -> (String, [String])? in
            guard let name = line.firstMatch(of: #/^\| `([a-z-]+)` \|/#) else { return nil }
            return (String(name.1), line.matches(of: #/`([a-z-]+): ([^`]+)`/#).map { "--\($0.1)=\($0.2)" })
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    private static let needed = ["--trackable", "van", "--source", "simulate:"]

    /// The result of parsing these arguments: the inserted options of the profile, the profile, and everything else as
    /// text.
    private static func run(_ arguments: [String]) throws -> (options: [String], profile: Profile?, text: String) {
        let merged = try LayeredArguments.merge(
            ["run"] + self.needed + arguments, environment: [:], for: GodwitAgent.self)
        var command = try #require(try GodwitAgent.parseAsRoot(merged) as? Run)
        let profile = command.capture.profile
        command.capture.profile = nil
        var text = ""
        dump(command, to: &text)
        return (merged.filter { $0.hasPrefix("--") && $0.contains("=") }.sorted(), profile, text)
    }

    @Test func theTableHasTheProfilesOfTheProgram() throws {
        #expect(Set(try Self.rows().keys) == Set(Profile.allCases.map(\.rawValue)))
    }

    /// Sets each profile as a user does and prints its keys: those are the keys of the page, and they do what the same
    /// options do when they are given one by one.
    @Test(arguments: Profile.allCases) func aProfileSetsTheKeysOfThePage(profile: Profile) throws {
        let byProfile = try Self.run(["--profile", profile.rawValue])
        print(
            "profile \(profile.rawValue): \(byProfile.options.map { String($0.dropFirst(2)) }.joined(separator: " "))")
        let listed = try #require(try Self.rows()[profile.rawValue])
        #expect(byProfile.options == listed)
        #expect(byProfile.profile == profile)
        #expect(byProfile.text == (try Self.run(listed)).text)
        #expect(byProfile.text != (try Self.run([])).text)
    }

    @Test(arguments: [
        "how-to/migrate-from-overland.md", "how-to/migrate-from-nextbillion.md", "reference/capture.md",
    ])
    func everyOptionOnThePageIsOne(page: String) throws {
        let commands: [any ParsableCommand.Type] = [Run.self]
        let known = Set(try commands.flatMap { try LayeredArguments.options(of: $0).map(\.name) })
            .union(["units", "watch"])  // of `godwit watch` and `godwit-agent status`
        for code in try Self.page(page).matches(of: #/`--([a-z-]+)/#).map({ String($0.1) }) {
            #expect(known.contains(code), "--\(code) on \(page)")
        }
    }

    /// Every setting on Overland's screens has a row on the page.
    @Test func everySettingOfOverlandHasAKeyOrAReason() throws {
        let rows = try Self.page("how-to/migrate-from-overland.md").split(separator: "\n").filter { $0.hasPrefix("| ") }
        #expect(!rows.contains { $0.lowercased().contains("not yet") })
        for setting in [
            "Visits", "Desired accuracy", "Activity type", "Pause automatically", "Resume with geofence",
            "Background indicator", "Logging mode", "Points per batch", "Minimum distance", "Minimum time",
            "Defers updates", "Prevent screen lock", "Notifications", "Include tracking stats",
            "Consider HTTP 2XX successful", "Purge queue", "Wifi zone", "Unique id", "Send interval",
        ] {
            #expect(rows.contains { $0.dropFirst(2).hasPrefix(setting) }, "\(setting)")
        }
    }
}
