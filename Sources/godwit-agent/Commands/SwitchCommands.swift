import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// `godwit-agent on`: switches the running agent on, so that it samples and sends positions again.
struct On: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Switch the agent on: sample and send again.",
        discussion: """
            Example:
              godwit-agent on
            """)
    @OptionGroup var agent: SocketOptions

    func run() async throws { try await self.agent.ask(.on) }
}

/// `godwit-agent off`: switches the running agent off, so that it samples and sends nothing and is no longer present.
/// The log of records remains.
struct Off: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Switch the agent off: sample and send nothing, and withdraw its presence. The log remains.",
        discussion: """
            Example:
              godwit-agent off
            """)
    @OptionGroup var agent: SocketOptions

    func run() async throws { try await self.agent.ask(.off) }
}

/// `godwit-agent report`: makes the running agent take a fix now and publish it.
struct Report: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Take a fix now and publish it.",
        discussion: """
            Example:
              godwit-agent report
            """)
    @OptionGroup var agent: SocketOptions

    func run() async throws { try await self.agent.ask(.report) }
}

/// `godwit-agent metrics`: prints the metrics of the running agent in Prometheus' text format.
struct Metrics: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the agent's metrics in Prometheus' text format.",
        discussion: """
            Example:
              godwit-agent metrics
            """)
    @OptionGroup var agent: SocketOptions

    func run() async throws {
        var text = ""
        let last = try await self.agent.connect().ask(.metrics) { line in
            if case .item(_, let piece) = line { text += piece["text"]?.text ?? "" }
        }
        try Output.print(text + (last["text"]?.text ?? ""))
    }
}

/// `godwit-agent send-now`: sends one batch of unsent records at once. If a batch is being sent already, waits for that
/// batch.
struct SendNow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send one batch of unsent records now, or wait for the batch that is being sent.",
        discussion: """
            Example:
              godwit-agent send-now
            """)
    @OptionGroup var agent: SocketOptions

    func run() async throws {
        let records = try await self.agent.ask(.sendNow)["records"]?.count ?? 0
        try Output.print("\(counted(records, "record")) sent\n")
    }
}

/// `godwit-agent flush`: sends all unsent records, and waits until they are acknowledged.
struct Flush: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send all unsent records, and wait until they are acknowledged.",
        discussion: """
            On a terminal, a bar shows the progress. The agent goes on sending if this command is ended.

            Example:
              godwit-agent flush
            """)
    @OptionGroup var agent: SocketOptions

    func run() async throws {
        let records = try await self.agent.askAndWait(.flush)["records"]?.count ?? 0
        try Output.print("\(counted(records, "record")) sent\n")
    }
}
