import Foundation
import Logging
import Synchronization
import Testing

@testable import godwit_agent

@Suite struct SettingsFileTests {
    /// An unreadable file may still be useful, so that the next change does not overwrite it.
    @Test(arguments: ["no JSON", #"{"version":2,"on":true,"options":{}}"#])
    func aFileThatCannotBeReadIsSetAside(text: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-settings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = SettingsFile(path: folder.appending(path: "agent.settings").path())
        try text.write(toFile: file.path, atomically: false, encoding: .utf8)
        #expect(file.read(Logger(label: "test")) == AgentSettings())
        try file.write(AgentSettings())
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path()).sorted()
        #expect(names.count == 2 && names[1].hasPrefix("agent.settings.unreadable-"), "\(names)")
        let aside = try String(contentsOf: folder.appending(path: names[1]), encoding: .utf8)
        #expect(aside == text)
        #expect(file.read(Logger(label: "test")) == AgentSettings(), "the new one is read")
    }

    /// The log claims no renaming that failed: here every new name is taken.
    @Test func aFileThatCannotBeRenamedIsNotReportedAsRenamed() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-settings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = SettingsFile(path: folder.appending(path: "agent.settings").path())
        try "no JSON".write(toFile: file.path, atomically: false, encoding: .utf8)
        let now = Int64(Date().timeIntervalSince1970)
        for second in (now - 1)...(now + 300) {
            try "".write(toFile: "\(file.path).unreadable-\(second)", atomically: false, encoding: .utf8)
        }
        let lines = Lines()
        #expect(file.read(Logger(label: "test") { _ in lines }) == AgentSettings())
        let text = lines.all.joined(separator: "\n")
        #expect(lines.all.count == 1 && text.contains("could not be renamed") && !text.contains("was renamed"))
        let kept = try String(contentsOfFile: file.path, encoding: .utf8)
        #expect(kept == "no JSON")
    }
}

/// The messages of a logger.
private final class Lines: LogHandler {
    private let messages = Mutex<[String]>([])
    var all: [String] { self.messages.withLock { $0 } }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { self.messages.withLock { $0.append("\(event.message)") } }
}
