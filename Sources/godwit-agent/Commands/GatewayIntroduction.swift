import FoundationEssentials
import TrackingControl
import TrackingCore
import TrackingRuntime

/// Asks a gateway for the settings that belong to the token of a set-up link. It runs the program `curl`, so that the
/// agent needs no HTTP client of its own. The token goes to curl's standard input, because other users could read it on
/// a command line.
struct GatewayIntroduction {
    let link: OverlandLink

    /// Asks the gateway for the settings of the set-up link, and returns them.
    ///
    /// - Throws: `inputUnreadable` if curl cannot be started, or the gateway does not answer or rejects the token; the
    ///   errors of ``OverlandLink/request(answer:)``.
    func fetch() async throws -> SetupRequest {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let answer = folder.appending(path: "answer").path
        let curl = EventProgram(words: ["curl", "--disable", "--config", "-"], limit: .seconds(30))
        let outcome = await curl.run(
            Array(self.settings(output: answer).utf8), environment: ProcessInfo.processInfo.environment)
        if let complaint = outcome.complaint { throw TrackingError(.inputUnreadable, self.advice(outcome, complaint)) }
        return try self.link.request(answer: try Data(contentsOf: URL(filePath: answer)))
    }

    /// Returns the configuration that is passed to curl on its standard input, quoted as the manual of curl requires.
    private func settings(output: String) -> String {
        func quoted(_ text: String) -> String {
            "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        return """
            url = \(quoted(self.link.url))
            header = \(quoted("Authorization: Bearer \(self.link.token)"))
            output = \(quoted(output))
            proto = "=http,https"
            max-time = 20
            max-filesize = 65536
            silent
            show-error
            fail
            globoff

            """
    }

    private func advice(_ outcome: ProgramOutcome, _ complaint: String) -> String {
        switch outcome {
        case .notStarted:
            "cannot ask the gateway: the program curl cannot be started (\(complaint)). Install it with apt-get install curl"
        case .exited(22): "the gateway rejected the token of the set-up link. Ask for a new link"
        default:
            "cannot reach the gateway at the url of the set-up link. The message of curl above names the cause (\(complaint))"
        }
    }
}
