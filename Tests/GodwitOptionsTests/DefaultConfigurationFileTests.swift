import ArgumentParser
import Foundation
import Testing

@testable import GodwitOptions

private struct Fleet: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet", subcommands: [Look.self, Keep.self, Group.self, Bare.self])
    struct Look: ParsableCommand {
        @Option var broker: [String] = []
        @Option var password: String?
        @Option var logLevel = "warning"
        @Option var format = "text"
        @Option var config: String?
    }
    struct Keep: ParsableCommand {
        @Option var store: String?
        @Option var share: String?
        @Option var format = "text"
        @Option var config: String?
    }
    struct Group: ParsableCommand {
        static let configuration = CommandConfiguration(subcommands: [List.self], defaultSubcommand: List.self)
        struct List: ParsableCommand {
            @Option var format = "text"
            @Option var config: String?
        }
    }
    struct Bare: ParsableCommand {
        @Option var broker: [String] = []
    }
}

/// The file that a program reads without `--config`, and the sections of a file for several commands.
@Suite struct DefaultConfigurationFileTests {
    /// Merges the arguments, with a default file of this text.
    private func merge(_ arguments: [String], _ environment: [String: String] = [:], file: String) throws -> [String] {
        let home = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let folder = home.appending(path: "godwit")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: home) }
        try file.write(to: folder.appending(path: "fleet.yaml"), atomically: true, encoding: .utf8)
        return try LayeredArguments.merge(
            arguments, environment: environment.merging(["XDG_CONFIG_HOME": home.path()]) { $1 }, for: Fleet.self
        ).map { $0.hasPrefix("--config=\(home.path())") ? "--config=default" : $0 }
    }

    private let fleet = "broker: mqtts://van@b\npassword: secret\nstore: sqlite:a\nlog-level: info\n"

    @Test func eachProgramHasItsPlaces() {
        func places(_ program: String, _ environment: [String: String]) -> [String] {
            DefaultConfigurationFile.places(of: program, environment)
        }
        #expect(
            places("godwit", ["XDG_CONFIG_HOME": "/c", "HOME": "/h"]) == [
                "/c/godwit/godwit.yaml", "/etc/godwit/godwit.yaml",
            ])
        #expect(
            places("godwit-agent", ["XDG_CONFIG_HOME": "relative", "HOME": "/h"]) == [
                "/h/.config/godwit/agent.yaml", "/etc/godwit/agent.yaml",
            ])
        #expect(places("godwit", ["HOME": ""]) == ["/etc/godwit/godwit.yaml"])
        let both = ["HOME": "/h"]
        #expect(DefaultConfigurationFile.path(of: "godwit", both) { _ in true } == "/h/.config/godwit/godwit.yaml")
        #expect(
            DefaultConfigurationFile.path(of: "godwit", both) { $0.hasPrefix("/etc") } == "/etc/godwit/godwit.yaml")
        #expect(DefaultConfigurationFile.path(of: "godwit", both) { _ in false } == nil)
    }

    @Test func eachCommandTakesTheOptionsThatItHas() throws {
        #expect(
            try self.merge(["look"], file: self.fleet) == [
                "look", "--broker=mqtts://van@b", "--password=secret", "--log-level=info", "--config=default",
            ])
        #expect(try self.merge(["keep"], file: self.fleet) == ["keep", "--store=sqlite:a", "--config=default"])
        #expect(try self.merge(["group"], file: self.fleet) == ["group", "--config=default"])
        #expect(try self.merge(["bare"], file: self.fleet) == ["bare"])
    }

    @Test func anotherFileReplacesTheDefaultOne() throws {
        #expect(
            try self.merge(["look", "--config", "/dev/null"], file: self.fleet) == ["look", "--config", "/dev/null"])
        #expect(try self.merge(["look"], ["GODWIT_CONFIG": "/dev/null"], file: self.fleet) == ["look"])
    }

    @Test func thePasswordIsForTheBrokerOfTheFileOnly() throws {
        let arguments = ["look", "--broker", "mqtt://other"]
        #expect(
            try self.merge(arguments, file: self.fleet) == [
                "look", "--log-level=info", "--config=default", "--broker", "mqtt://other",
            ])
        #expect(
            try self.merge(["look"], ["GODWIT_BROKER": "mqtt://other"], file: self.fleet) == [
                "look", "--broker=mqtt://other", "--log-level=info", "--config=default",
            ])
    }

    @Test func theSectionOfACommandWins() throws {
        let file = "log-level: info\nlook:\n  format: json\n  log-level: debug\ngroup list:\n  format: csv\n"
        #expect(
            try self.merge(["look"], file: file) == [
                "look", "--log-level=debug", "--format=json", "--config=default",
            ])
        #expect(try self.merge(["keep"], file: file) == ["keep", "--config=default"])
        #expect(try self.merge(["group"], file: file) == ["group", "--format=csv", "--config=default"])
        #expect(try self.merge(["look", "--format", "xml"], file: "look:\n").last == "xml")
    }

    @Test(arguments: [
        ("brokr: x\n", "line 1: the key 'brokr' is unknown"),
        (
            "broker: x\nformat: json\n",
            "line 2: the key 'format' must not be at the top of the default configuration file"
        ),
        ("look:\n  formt: json\n", "line 2: the key 'formt' is unknown"),
        ("look:\n  config: a.yaml\n", "line 2: the key 'config' would name a second configuration file"),
        ("lok:\n  format: json\n", "line 1: the key 'lok' is unknown"),
        ("look: json\n", "line 1: the key 'look' is unknown"),
    ])
    func aWrongKeyIsAnErrorWithItsLine(file: String, part: String) throws {
        #expect { try self.merge(["look"], file: file) } throws: { "\($0)".contains(part) }
    }

    /// A file that `--config` names may also have the options of its command at the top.
    @Test func aNamedFileIsForOneCommandOrForSeveral() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "format: json\nshare: a\nstore: b\nbroker: c\nlook:\n  format: xml\n"
            .write(toFile: path, atomically: true, encoding: .utf8)
        #expect(
            try LayeredArguments.merge(["keep"], environment: ["GODWIT_CONFIG": path], for: Fleet.self) == [
                "keep", "--store=b", "--share=a", "--format=json",
            ])
    }
}
