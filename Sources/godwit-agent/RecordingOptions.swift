public import ArgumentParser
import FoundationEssentials
import GodwitOptions
import TrackingCore
public import TrackingPublisher
import TrackingSpool

/// What the device keeps, and how it goes out behind the live positions.
struct RecordingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The file that keeps every record until it is safe, or memory. Default: a file of its own for the first trackable in $STATE_DIRECTORY, else $XDG_STATE_HOME/godwit.",
            valueName: "path|memory"))
    var spool: String?

    @Option(
        help: ArgumentHelp(
            "When a record counts as written: full, after a power cut too; normal, after a crash of this program.",
            valueName: "full|normal"))
    var durability = Durability.full

    @Option(help: ArgumentHelp("The most records in a batch, 1 to 10000; so many go at once.", valueName: "n"))
    var batchSize = 200

    @Option(
        help: ArgumentHelp(
            "Less than a batch waits this long for company; off sends nothing by itself, live positions included.",
            valueName: "seconds|off"))
    var batchWindow = "20"

    @Option(
        help: ArgumentHelp(
            "Whether positions go out live; off records them, and sends batches only.", valueName: "on|off"))
    var live = Switch.on

    @Option(
        help: ArgumentHelp(
            "A record leaves the device only when this recorder has acknowledged it. Repeatable, or several with commas: each must.",
            valueName: "client id"))
    var acknowledgeBy: [String] = []

    @Option(help: ArgumentHelp("Keep at most this many records; the oldest go first.", valueName: "n"))
    var keepPoints: Int?

    @Option(help: ArgumentHelp("Keep at most this many bytes of records; the oldest go first.", valueName: "bytes"))
    var keepBytes: Int?

    @Option(help: ArgumentHelp("Keep records for at most this many days.", valueName: "days"))
    var keepDays: Double?

    @Option(
        help: ArgumentHelp(
            "The unsent records of a trackable that another publisher takes over: keep sends them, clear lets them go.",
            valueName: "keep|clear"))
    var onCollision = CollisionRule.keep

    /// When a record counts as written.
    enum Durability: String, ExpressibleByArgument, CaseIterable {
        case full, normal
    }

    func validate() throws {
        guard (1...10_000).contains(self.batchSize) else {
            throw ValidationError("--batch-size must be 1 to 10000, not \(self.batchSize)")
        }
        _ = try self.window()
        _ = try self.recorders()
        for (name, value) in [("--keep-points", self.keepPoints), ("--keep-bytes", self.keepBytes)] {
            if let value, value < 1 { throw ValidationError("\(name) must be 1 or more, not \(value)") }
        }
        if let days = self.keepDays, !(days > 0 && days <= 36_500) {
            throw ValidationError("--keep-days must be above 0 and at most 36500, not \(days)")
        }
    }

    private func window() throws -> Duration? {
        if self.batchWindow == "off" { return nil }
        guard let seconds = Double(self.batchWindow), seconds >= 0, seconds <= 86_400 else {
            throw ValidationError("--batch-window must be 0 to 86400 seconds, or off, not '\(self.batchWindow)'")
        }
        return .seconds(seconds)
    }

    private func recorders() throws -> Set<ClientID> { try Set(acknowledgeBy: self.acknowledgeBy) }

    /// Writes what was chosen into the publisher's configuration.
    func apply(to configuration: inout PublisherConfiguration) throws {
        configuration.recording.batchSize = self.batchSize
        configuration.recording.batchWindow = try self.window()
        configuration.recording.recorders = try self.recorders()
        configuration.sendsLive = self.live == .on
        configuration.onCollision = self.onCollision
        configuration.limits = SpoolLimits(
            maximumCount: self.keepPoints, maximumBytes: self.keepBytes,
            maximumAge: self.keepDays.map { .seconds($0 * 86_400) })
    }

    /// The log.
    ///
    /// - Throws: `inputUnreadable` when its folder cannot be made.
    func storage(for trackables: [Trackable]) throws -> any SpoolStorage {
        if self.spool == "memory" { return InMemorySpool() }
        return SQLiteSpool(
            path: try self.path(for: trackables), durability: self.durability == .full ? .full : .normal)
    }

    /// Where the agent keeps what was changed while it ran: beside the log, or where that would be.
    ///
    /// - Throws: `inputUnreadable` when the folder cannot be made.
    func settingsPath(for trackables: [Trackable]) throws(TrackingError) -> String {
        try self.path(for: trackables) + ".settings"
    }

    /// The log of another one of these trackables that lies where this one's does: where another one was named first before,
    /// its records wait there, and what was changed while the agent ran is beside it. `nil`: there is none.
    ///
    /// - Throws: `inputUnreadable` when the folder cannot be made.
    func otherLog(of trackables: [Trackable]) throws(TrackingError) -> String? {
        guard self.spool == nil, let first = trackables.first else { return nil }
        let own = try self.path(for: [first])
        for other in trackables.dropFirst() {
            let path = try self.path(for: [other])
            if path != own, FileManager.default.fileExists(atPath: path) { return path }
        }
        return nil
    }

    private func path(for trackables: [Trackable]) throws(TrackingError) -> String {
        if let spool = self.spool, spool != "memory" { return spool }
        return try StateFolder.path(for: "\(trackables.first?.id.topicLevel ?? "agent").sqlite")
    }
}

extension CollisionRule: ExpressibleByArgument {}
