public import TrackingCore

/// The commands that an agent accepts on its local socket only.
extension Command.Name {
    /// Return the state of the agent.
    public static let status = Command.Name(rawValue: "STATUS")
    /// Return the status in Prometheus' text format.
    public static let metrics = Command.Name(rawValue: "METRICS")
    /// List pending records, at most `limit` of them.
    public static let queueList = Command.Name(rawValue: "QUEUE_LIST")
    /// Return every pending record, one in each line before the answer.
    public static let queueExport = Command.Name(rawValue: "QUEUE_EXPORT")
    /// Delete every pending record.
    public static let queuePurge = Command.Name(rawValue: "QUEUE_PURGE")
    /// List quarantined records, at most `limit` of them.
    public static let quarantineList = Command.Name(rawValue: "QUARANTINE_LIST")
    /// Make the quarantined records named in `records` pending again, or all of them without `records`.
    public static let quarantineRetry = Command.Name(rawValue: "QUARANTINE_RETRY")
    /// Delete the quarantined records named in `records`, or all of them without `records`.
    public static let quarantineDrop = Command.Name(rawValue: "QUARANTINE_DROP")
    /// Track `trackable` in place of the tracked ones. `unsent` decides about their unsent points.
    public static let bind = Command.Name(rawValue: "BIND")
    /// Apply the values of a set-up link: `broker`, `user`, `token`, `trackable`. With `trial`, only return the
    /// changes.
    public static let setUp = Command.Name(rawValue: "SETUP")

    /// The commands that the agent accepts from its local socket only, never through the broker.
    public static let localOnly: Set<Command.Name> = [
        .status, .metrics, .queueList, .queueExport, .queuePurge, .quarantineList, .quarantineRetry, .quarantineDrop,
        .bind,
        .setUp,
    ]

    /// The commands that the agent accepts through the broker, if it accepts commands from the broker at all.
    public static let allowedRemotely: Set<Command.Name> = [
        .report, .sendNow, .flush, .startTrip, .stopTrip, .on, .off, .configure, .track, .add, .remove, .destination,
    ]
}

extension SettingChange {
    /// The changed setting as a JSON object.
    var json: JSONValue {
        var members: [String: JSONValue] = ["key": .text(self.key)]
        members["before"] = self.before.map { .text($0) }
        members["after"] = self.after.map { .text($0) }
        return .object(members)
    }

    /// Parses a changed setting from a JSON object; returns `nil` for any other value.
    public init?(_ value: JSONValue) {
        guard let key = value["key"]?.text else { return nil }
        self.init(key: key, before: value["before"]?.text, after: value["after"]?.text)
    }
}

extension SpoolEntry {
    /// The description of a pending record in a list: everything but its content.
    var summary: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "trackable": .text(self.trackable.rawValue), "stream": .text(self.stream.rawValue),
            "seq": .number(Double(self.record.seq)), "time": .number(self.record.time.seconds),
            "kind": .text("\(self.record.kind)"), "bytes": .number(Double(self.record.payload.count)),
        ]
        members["tripId"] = self.record.tripID.map { .text($0) }
        return members
    }

    /// The complete pending record as a JSON object, with its content as text, so that every byte is preserved.
    var item: JSONValue {
        var members = self.summary
        members["bytes"] = nil
        members["record"] = .text(String(decoding: self.record.payload, as: UTF8.self))
        return .object(members)
    }
}

extension QuarantinedRecord {
    /// The description of a quarantined record in a list.
    var summary: [String: JSONValue] {
        var members = self.entry.summary
        members["reason"] = .text(String(decoding: self.reason.utf8.prefix(200), as: UTF8.self))
        return members
    }
}
