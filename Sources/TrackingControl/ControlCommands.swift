public import TrackingCore

/// The commands that only the local socket takes.
extension Command.Name {
    /// How things stand.
    public static let status = Command.Name(rawValue: "STATUS")
    /// The status as Prometheus' text format.
    public static let metrics = Command.Name(rawValue: "METRICS")
    /// The records that wait: `limit`.
    public static let queueList = Command.Name(rawValue: "QUEUE_LIST")
    /// Every record that waits, one item each.
    public static let queueExport = Command.Name(rawValue: "QUEUE_EXPORT")
    /// Forget every record that waits.
    public static let queuePurge = Command.Name(rawValue: "QUEUE_PURGE")
    /// The records that were refused for good: `limit`.
    public static let quarantineList = Command.Name(rawValue: "QUARANTINE_LIST")
    /// Put records back in line: `records`, or all.
    public static let quarantineRetry = Command.Name(rawValue: "QUARANTINE_RETRY")
    /// Forget records: `records`, or all.
    public static let quarantineDrop = Command.Name(rawValue: "QUARANTINE_DROP")
    /// Carry another trackable: `trackable`, `unsent`.
    public static let bind = Command.Name(rawValue: "BIND")
    /// Take over a set-up link: `broker`, `user`, `token`, `trackable`, `trial`.
    public static let setUp = Command.Name(rawValue: "SETUP")

    /// What may be asked on the local socket alone.
    public static let localOnly: Set<Command.Name> = [
        .status, .metrics, .queueList, .queueExport, .queuePurge, .quarantineList, .quarantineRetry, .quarantineDrop,
        .bind,
        .setUp,
    ]

    /// What may be asked through the broker, where the agent takes commands from there at all.
    public static let allowedRemotely: Set<Command.Name> = [
        .report, .sendNow, .flush, .startTrip, .stopTrip, .on, .off, .configure, .track, .add, .remove, .destination,
    ]
}

extension SettingChange {
    /// The change as a JSON object.
    var json: JSONValue {
        var members: [String: JSONValue] = ["key": .text(self.key)]
        members["before"] = self.before.map { .text($0) }
        members["after"] = self.after.map { .text($0) }
        return .object(members)
    }

    /// Reads a change; `nil` where it is none.
    public init?(_ value: JSONValue) {
        guard let key = value["key"]?.text else { return nil }
        self.init(key: key, before: value["before"]?.text, after: value["after"]?.text)
    }
}

extension SpoolEntry {
    /// What a list says of a record: everything but what is in it.
    var summary: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "trackable": .text(self.trackable.rawValue), "stream": .text(self.stream.rawValue),
            "seq": .number(Double(self.record.seq)), "time": .number(self.record.time.seconds),
            "kind": .text("\(self.record.kind)"), "bytes": .number(Double(self.record.payload.count)),
        ]
        members["tripId"] = self.record.tripID.map { .text($0) }
        return members
    }

    /// All of a record; what is in it as text, so that it arrives byte for byte.
    var item: JSONValue {
        var members = self.summary
        members["bytes"] = nil
        members["record"] = .text(String(decoding: self.record.payload, as: UTF8.self))
        return .object(members)
    }
}

extension QuarantinedRecord {
    /// What a list says of it.
    var summary: [String: JSONValue] {
        var members = self.entry.summary
        members["reason"] = .text(String(decoding: self.reason.utf8.prefix(200), as: UTF8.self))
        return members
    }
}
