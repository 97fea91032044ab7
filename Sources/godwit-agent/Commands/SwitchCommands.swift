import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// `godwit-agent on`.
struct On: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Sample and send again.")
    @OptionGroup var agent: SocketOptions

    func run() async throws { try await self.agent.ask(.on) }
}

/// `godwit-agent off`.
struct Off: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sample nothing, send nothing, be absent; the log is kept.")
    @OptionGroup var agent: SocketOptions

    func run() async throws { try await self.agent.ask(.off) }
}

/// `godwit-agent report`.
struct Report: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Take a fix now and tell it.")
    @OptionGroup var agent: SocketOptions

    func run() async throws { try await self.agent.ask(.report) }
}

/// `godwit-agent metrics`.
struct Metrics: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print the agent's figures in Prometheus' text format.")
    @OptionGroup var agent: SocketOptions

    func run() async throws {
        var text = ""
        let last = try await self.agent.connect().ask(.metrics) { line in
            if case .item(_, let piece) = line { text += piece["text"]?.text ?? "" }
        }
        try Output.print(text + (last["text"]?.text ?? ""))
    }
}

/// `godwit-agent send-now`.
struct SendNow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send one batch now, or join the one that is on its way.")
    @OptionGroup var agent: SocketOptions

    func run() async throws {
        let records = try await self.agent.ask(.sendNow)["records"]?.count ?? 0
        try Output.print("\(counted(records, "record")) sent\n")
    }
}

/// `godwit-agent flush`.
struct Flush: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send everything that waits, and wait for it.",
        discussion: "On a terminal a bar shows how far it is. Ending this command does not end the sending.")
    @OptionGroup var agent: SocketOptions

    func run() async throws {
        let records = try await self.agent.askAndWait(.flush)["records"]?.count ?? 0
        try Output.print("\(counted(records, "record")) sent\n")
    }
}
