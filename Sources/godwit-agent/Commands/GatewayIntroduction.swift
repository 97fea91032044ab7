import FoundationEssentials
import TrackingControl
import TrackingCore

/// Asks a gateway what an agent with a link's token is set up with, by `curl`: a device that is set up in another way needs no
/// HTTP client. The token goes over standard input, where no list of processes shows it.
struct GatewayIntroduction {
    let link: OverlandLink

    /// - Throws: `inputUnreadable` when there is no answer, or what ``OverlandLink/request(answer:)`` throws.
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

    /// Curl's configuration; see its manual for how text is quoted.
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

    private func advice(_ outcome: EventProgram.Outcome, _ complaint: String) -> String {
        switch outcome {
        case .notStarted: "the gateway cannot be asked without curl (apt-get install curl): \(complaint)"
        case .exited(22): "the gateway refuses: is the link's token still good?"
        default: "the gateway does not answer at the link's url; curl says why above (\(complaint))"
        }
    }
}
