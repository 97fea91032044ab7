public import ArgumentParser
import FoundationEssentials
import GodwitOptions
import TrackingCore
public import TrackingPublisher
import TrackingRuntime
import TrackingSpool

/// The options for the device's log of records, and for sending the records from the log.
struct RecordingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Keep the log of unacknowledged records in this file, or in memory. Default: a file named after the first trackable, in $STATE_DIRECTORY, else $XDG_STATE_HOME/godwit.",
            valueName: "path|memory"))
    var spool: String?

    @Option(
        help: ArgumentHelp(
            "Write each record to the log so that it survives a power cut (full), or only a crash of this program (normal).",
            valueName: "full|normal", visibility: .hidden))
    var durability = Durability.full

    @Option(
        help: ArgumentHelp(
            "Send at most this many records in one batch, 1 to 10000. A full batch is sent without waiting.",
            valueName: "n",
            visibility: .hidden))
    var batchSize = 200

    @Option(
        help: ArgumentHelp(
            "Send an incomplete batch after this many seconds; off: send batches and live positions only by command.",
            valueName: "seconds|off", visibility: .hidden))
    var batchWindow = "20"

    @Option(
        help: ArgumentHelp(
            "Publish live positions; off: record positions, and send them in batches only.", valueName: "on|off",
            visibility: .hidden))
    var live = Switch.on

    @Option(
        help: ArgumentHelp(
            "Remove a record from the device only after this recorder has acknowledged it. Repeatable, or several separated by commas: all must acknowledge.",
            valueName: "client id"))
    var acknowledgeBy: [String] = []

    @Option(
        help: ArgumentHelp(
            "Keep at most this many unsent records; the oldest are discarded.", valueName: "n", visibility: .hidden))
    var keepPoints: Int?

    @Option(
        help: ArgumentHelp(
            "Keep at most this many bytes of unsent records; the oldest are discarded.", valueName: "bytes",
            visibility: .hidden))
    var keepBytes: Int?

    @Option(
        help: ArgumentHelp("Keep unsent records at most this many days; older ones are discarded.", valueName: "days"))
    var keepDays: Double?

    @Option(
        help: ArgumentHelp(
            "Keep and send the unsent records of a trackable that another publisher takes over (keep), or discard them (clear).",
            valueName: "keep|clear", visibility: .hidden))
    var onCollision = CollisionRule.keep

    @Option(
        help: ArgumentHelp(
            "Publish the resolution in force of each trackable, with its destination.", valueName: "on|off",
            visibility: .hidden))
    var sendResolution = Switch.on

    @Option(
        help: ArgumentHelp(
            "Count as present for this many seconds after the connection broke, 1 to 86400. Default: not at all.",
            valueName: "seconds", visibility: .hidden))
    var remainPresent: Int?

    @Option(
        help: ArgumentHelp(
            "Count as present for this many seconds after the last heartbeat, 10 to 300. A heartbeat is published every half of this time.",
            valueName: "seconds", visibility: .hidden))
    var lease = 90

    /// The strongest failure that a record in the log survives: a power cut (`full`), or only a crash of the program
    /// (`normal`).
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
        if let seconds = self.remainPresent, !(1...86_400).contains(seconds) {
            throw ValidationError("--remain-present must be 1 to 86400 seconds, not \(seconds)")
        }
        guard (10...300).contains(self.lease) else {
            throw ValidationError("--lease must be 10 to 300 seconds, not \(self.lease)")
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

    /// Returns the recorders that must acknowledge a record before it is removed from the log; empty for none.
    ///
    /// - Throws: `ValidationError` with the violated rule when a client id is malformed.
    func recorders() throws -> Set<ClientID> { try Set(acknowledgeBy: self.acknowledgeBy) }

    /// Sets the values of the recording options, such as the batch size and the recorders, in the publisher's
    /// configuration. The options for the log's file and its durability are not part of that configuration.
    func apply(to configuration: inout PublisherConfiguration) throws {
        configuration.recording.batchSize = self.batchSize
        configuration.recording.batchWindow = try self.window()
        configuration.recording.recorders = try self.recorders()
        configuration.sendsLive = self.live == .on
        configuration.sendsResolution = self.sendResolution == .on
        configuration.remainsPresentFor = self.remainPresent.map { .seconds($0) }
        configuration.lease = .seconds(self.lease)
        configuration.onCollision = self.onCollision
        configuration.limits = SpoolLimits(
            maximumCount: self.keepPoints, maximumBytes: self.keepBytes,
            maximumAge: self.keepDays.map { .seconds($0 * 86_400) })
    }

    /// Makes the log for unsent records that the options describe, in a file or in memory.
    ///
    /// - Parameter trackables: The tracked trackables. By default, the log's file is named after the first one.
    ///
    /// - Throws: `inputUnreadable` if the log's folder cannot be created.
    func storage(for trackables: [Trackable]) throws -> any SpoolStorage {
        if self.spool == "memory" { return InMemorySpool() }
        return SQLiteSpool(
            path: try self.path(for: trackables), durability: self.durability == .full ? .full : .normal)
    }

    /// Returns the path of the settings file, which contains the settings changed at run time. It is the path of the
    /// log with the ending `.settings`. If the log is in memory, the default path of the log is used.
    ///
    /// - Throws: `inputUnreadable` if the folder cannot be created.
    func settingsPath(for trackables: [Trackable]) throws(TrackingError) -> String {
        try self.path(for: trackables) + ".settings"
    }

    /// Looks for another log that an earlier start has left. A log is named after the first tracked trackable, so
    /// another order of the trackables begins another log. The records of the other log are not sent.
    ///
    /// - Returns: The path of such a log; `nil` if there is none.
    /// - Throws: `inputUnreadable` if the folder cannot be created.
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
        return try StateFolder.path(for: "\(trackables.first?.id.topicLevel ?? "agent").sqlite", option: "--spool")
    }
}

extension CollisionRule: ExpressibleByArgument {}
