import Foundation
import Logging
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
}
