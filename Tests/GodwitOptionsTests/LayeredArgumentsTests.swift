import ArgumentParser
import Foundation
import GodwitOptions
import Testing
import TrackingCore

private struct Sample: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "sample", subcommands: [Sub.self, Plain.self])
    struct Plain: ParsableCommand {
        @Option var topicRoot = "tracking"
    }
    struct Sub: ParsableCommand {
        @Option var broker: [String] = []
        @Option var topicRoot = "tracking"
        @Flag var failFast = false
        @Option var config: String?
        @Argument var ids: [String] = []
    }
}

@Suite struct LayeredArgumentsTests {
    private func merge(_ arguments: [String], _ environment: [String: String] = [:], file: String? = nil) throws
        -> [String]
    {
        var environment = environment
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        if let file {
            try file.write(toFile: path, atomically: true, encoding: .utf8)
            environment["GODWIT_CONFIG"] = path
        }
        return try LayeredArguments.merge(arguments, environment: environment, for: Sample.self)
    }

    @Test func aCommandThatTakesNoFileIsNotDisturbedByOne() throws {
        #expect(
            try self.merge(["plain"], ["GODWIT_TOPIC_ROOT": "env"], file: "broker: mqtt://file\n")
                == ["plain", "--topic-root=env"])
    }

    @Test func theCommandLineWinsOverTheEnvironmentWhichWinsOverTheFile() throws {
        let file = "topic-root: file\nbroker: [mqtt://file]\nfail-fast: true\n"
        #expect(
            try self.merge(
                ["sub", "--topic-root", "line", "van"], ["GODWIT_TOPIC_ROOT": "env", "GODWIT_BROKER": "mqtt://env"],
                file: file)
                == ["sub", "--broker=mqtt://env", "--fail-fast", "--topic-root", "line", "van"])
        #expect(
            try self.merge(["sub"], file: file) == ["sub", "--broker=mqtt://file", "--topic-root=file", "--fail-fast"])
    }

    @Test func emptyValuesAreIgnored() throws {
        #expect(try self.merge(["sub", "van"], ["GODWIT_TOPIC_ROOT": "", "GODWIT_CONFIG": ""]) == ["sub", "van"])
        #expect(
            try self.merge(
                ["sub", "van"], ["GODWIT_TOPIC_ROOT": "", "GODWIT_FAIL_FAST": "", "GODWIT_BROKER": ""],
                file: "topic-root: file\nfail-fast: true\nbroker: mqtt://file\n")
                == ["sub", "--broker=mqtt://file", "--topic-root=file", "--fail-fast", "van"])
        #expect(
            try self.merge(["sub", "van"], file: "topic-root: \"\"\nbroker: ['', mqtt://file]\n")
                == ["sub", "--broker=mqtt://file", "van"])
        // The parser would take the next word for the value.
        #expect { try self.merge(["sub", "--topic-root=", "van"]) } throws: {
            "\($0)".contains("--topic-root= has no value")
        }
        #expect(try self.merge(["sub", "--", "--topic-root="]) == ["sub", "--", "--topic-root="])
    }

    /// The words after `--` are no options, so that none of them names a configuration file.
    @Test(arguments: [["--config", "/nonexistent.yaml"], ["--config=/nonexistent.yaml"]])
    func aConfigurationFileIsNotNamedBehindTheSeparator(words: [String]) throws {
        #expect(try self.merge(["sub", "--"] + words) == ["sub", "--"] + words)
        #expect(
            try self.merge(["sub", "--"] + words, file: "topic-root: file\n")
                == ["sub", "--topic-root=file", "--"] + words)
    }

    @Test func aByteOrderMarkInFrontOfTheFileIsPassedOver() throws {
        #expect(try self.merge(["sub"], file: "\u{FEFF}topic-root: file\n") == ["sub", "--topic-root=file"])
    }

    /// The parser's own messages repeat lines of the file, which may contain the password.
    @Test(arguments: [
        ("password: hunter2\ntopic-root: a\npassword: hunter2\n", ["line 1", "'password'"]),
        ("password: {hunter2: 1, hunter2: 2}\n", ["line 1"]),
        ("topic-root: a\npassword: \"hunter2\nbroker: b\n", ["line 4", "not valid YAML"]),
        ("topic-root: a\npassword: hunter2: hunter2\n", ["line 2", "column", "not valid YAML"]),
        ("topic-root: a\npassword:hunter2\n", ["line 3", "not valid YAML"]),
        ("password: *hunter2\n", ["line 1", "not valid YAML"]),
        ("a: b\npassword: hunter2\u{1}\n", ["line 2", "not valid YAML"]),
        ("password: %hunter2\n", ["line 1", "not valid YAML"]),
        ("password: hunter2\n---\npassword: hunter2\n", ["line 2"]),
    ])
    func aMistakeInTheFileIsReportedWithItsPlaceAndWithoutValues(file: String, parts: [String]) throws {
        #expect {
            try self.merge(["sub"], file: file)
        } throws: { error in
            let text = (error as? ValidationError)?.message ?? ""
            return !text.contains("hunter2") && !text.contains("\n") && parts.allSatisfy(text.contains)
        }
    }

    @Test func aFileThatIsNotUTF8IsRefusedWithItsLine() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: path) }
        try Data("fail-fast: true\ntopic-root: Z\u{FC}rich\n".unicodeScalars.map { UInt8($0.value) }).write(to: path)
        #expect {
            try LayeredArguments.merge(["sub", "--config", path.path()], environment: [:], for: Sample.self)
        } throws: { error in
            let text = (error as? ConfigurationFileError)?.description ?? ""
            return text.contains("not UTF-8") && text.contains("line 2") && !text.contains("rich\n")
        }
    }

    @Test func aFileNamesNoOtherFile() throws {
        #expect { try self.merge(["sub"], file: "config: b.yaml\n") } throws: { "\($0)".contains("'config'") }
    }

    @Test func anUnknownKeyIsAnErrorThatNamesIt() throws {
        #expect { try self.merge(["sub"], file: "brokr: x\n") } throws: { "\($0)".contains("'brokr'") }
    }

    @Test(arguments: [
        ("fail-fast: 3\n", "'fail-fast'"), ("topic-root: [a, b]\n", "'topic-root'"), ("- a\n", "mapping"),
    ])
    func aValueOfTheWrongKindIsAnErrorThatNamesTheKey(file: String, part: String) throws {
        #expect { try self.merge(["sub"], file: file) } throws: { "\($0)".contains(part) }
    }

    @Test func aFlagInTheEnvironmentIsTrueOrFalse() throws {
        #expect(try self.merge(["sub"], ["GODWIT_FAIL_FAST": "yes"]) == ["sub", "--fail-fast"])
        #expect(try self.merge(["sub"], ["GODWIT_FAIL_FAST": "0"]) == ["sub"])
        #expect { try self.merge(["sub"], ["GODWIT_FAIL_FAST": "maybe"]) } throws: {
            "\($0)".contains("GODWIT_FAIL_FAST")
        }
    }
}

@Suite struct ArgumentValuesTests {
    @Test func aResolutionIsReadAndWritten() throws {
        let resolution = try #require(Resolution(argument: "high/1000/2.5"))
        #expect(resolution.argumentText == "HIGH/1000/2.5")
        #expect(Resolution(argument: resolution.argumentText) == resolution)
    }

    @Test(arguments: [
        "", "HIGH", "HIGH/1000", "HIGH/-1/0", "HIGH/1000/-1", "FINE/1/1", "HIGH/1/1/1", "HIGH/x/1", "HIGH/1/nan",
    ])
    func anythingElseIsRefused(text: String) {
        #expect(Resolution(argument: text) == nil)
    }

    @Test func timesAreWrittenAsRFC3339() {
        #expect(TimeText.rfc3339(UnixTime(1_550_475_950.25)) == "2019-02-18T07:45:50.250Z")
        #expect(TimeText.rfc3339(UnixTime(-0.5)) == "1969-12-31T23:59:59.500Z")
        #expect((-0.05).text(digits: 1) == "-0.1" || (-0.05).text(digits: 1) == "0.0")
        #expect(1.005.text(digits: 2) == "1.00" || 1.005.text(digits: 2) == "1.01")
        #expect((-8.661746).text(digits: 5) == "-8.66175")
    }
}
