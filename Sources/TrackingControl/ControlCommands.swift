public import TrackingCore

/// The names of the commands that an agent accepts on its local socket only, and the sets of commands that the socket
/// and the broker may send.
extension Command.Name {
    /// The command to return the state of the agent.
    public static let status = Command.Name(rawValue: "STATUS")
    /// The command to return the agent's status in Prometheus' text format.
    public static let metrics = Command.Name(rawValue: "METRICS")
    /// The command to list pending records, those without an acknowledgement yet. The argument `limit` is the largest
    /// number of records.
    public static let queueList = Command.Name(rawValue: "QUEUE_LIST")
    /// The command to return every pending record (each record without an acknowledgement yet). Each record is a line
    /// of its own before the answer.
    public static let queueExport = Command.Name(rawValue: "QUEUE_EXPORT")
    /// The command to delete every pending record (each record without an acknowledgement yet) from the log.
    public static let queuePurge = Command.Name(rawValue: "QUEUE_PURGE")
    /// The command to list quarantined records, which were rejected for good and set aside. The argument `limit` is the
    /// largest number of records.
    public static let quarantineList = Command.Name(rawValue: "QUARANTINE_LIST")
    /// The command to send quarantined records again, which were rejected for good and set aside. The argument
    /// `records` names them; without it, all of them are sent again.
    public static let quarantineRetry = Command.Name(rawValue: "QUARANTINE_RETRY")
    /// The command to delete quarantined records, which were rejected for good and set aside. The argument `records`
    /// names them; without it, all of them are deleted.
    public static let quarantineDrop = Command.Name(rawValue: "QUARANTINE_DROP")
    /// The command to track the trackable in the argument `trackable` instead of the tracked ones. If those have unsent
    /// points, the argument `unsent` decides: `refuse` rejects the command, `clear` deletes the points, `send` sends
    /// them first.
    public static let bind = Command.Name(rawValue: "BIND")
    /// The command to apply the values of a set-up link: `broker`, `user`, `token`, `trackable`. With the argument
    /// `trial`, the agent only returns the changes that it would make.
    public static let setUp = Command.Name(rawValue: "SETUP")

    /// The commands that the agent accepts from its local socket only, never through the broker.
    public static let localOnly: Set<Command.Name> = [
        .status, .metrics, .queueList, .queueExport, .queuePurge, .quarantineList, .quarantineRetry, .quarantineDrop,
        .bind,
        .setUp,
    ]

    /// The commands that the agent accepts through the broker. The agent accepts them only if commands from the broker
    /// are enabled.
    public static let allowedRemotely: Set<Command.Name> = [
        .report, .sendNow, .flush, .startTrip, .stopTrip, .on, .off, .configure, .track, .add, .remove, .destination,
    ]
}

extension SettingChange {
    /// The changed setting (name, old value and new value) as a JSON object.
    var json: JSONValue {
        var members: [String: JSONValue] = ["key": .text(self.key)]
        members["before"] = self.before.map { .text($0) }
        members["after"] = self.after.map { .text($0) }
        return .object(members)
    }

    /// Parses a changed setting from a JSON object; returns `nil` for JSON of another form.
    public init?(_ value: JSONValue) {
        guard let key = value["key"]?.text else { return nil }
        self.init(key: key, before: value["before"]?.text, after: value["after"]?.text)
    }
}

extension SpoolEntry {
    /// The description of a pending record in a list, as the members of a JSON object: trackable, stream, number, time,
    /// kind, size in bytes and trip id, without the record's content.
    var summary: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "trackable": .text(self.trackable.rawValue), "stream": .text(self.stream.rawValue),
            "seq": .number(Double(self.record.seq)), "time": .number(self.record.time.seconds),
            "kind": .text("\(self.record.kind)"), "bytes": .number(Double(self.record.payload.count)),
        ]
        members["tripId"] = self.record.tripID.map { .text($0) }
        return members
    }

    /// The complete pending record as a JSON object. The content of the record is one text member, so that every byte
    /// of it is preserved.
    var item: JSONValue {
        var members = self.summary
        members["bytes"] = nil
        members["record"] = .text(String(decoding: self.record.payload, as: UTF8.self))
        return .object(members)
    }
}

extension QuarantinedRecord {
    /// The description of a quarantined record for a list, as members of a JSON object, with the first 200 bytes of the
    /// reason for its rejection.
    var summary: [String: JSONValue] {
        var members = self.entry.summary
        members["reason"] = .text(String(decoding: self.reason.utf8.prefix(200), as: UTF8.self))
        return members
    }
}
