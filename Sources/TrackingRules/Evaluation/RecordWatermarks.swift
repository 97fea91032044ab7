import TrackingCore

/// The highest sequence number of each stream that was queued for webhooks, by kind of message. Records of the history above a
/// watermark were not queued.
struct RecordWatermarks: Sendable {
    /// A stream of a trackable, for one kind of message.
    struct Key: Hashable, Sendable {
        var trackable: TrackableID
        var kind: Outbox.Kind
        var stream: StreamID
    }

    /// The highest sequence number, and the time at which its record was queued.
    struct Mark: Hashable, Sendable {
        var seq: UInt64
        var time: UnixTime
    }

    private(set) var marks: [Key: Mark]
    private var changed: Set<Key> = []

    /// Creates the watermarks from those that an earlier run saved.
    init(_ saved: [Key: Mark] = [:]) { self.marks = saved }

    /// Advances the watermarks to records that were queued now.
    mutating func advance(_ kind: Outbox.Kind, to names: [RecordName], of id: TrackableID, now: UnixTime) {
        for name in names {
            let key = Key(trackable: id, kind: kind, stream: name.stream)
            self.marks[key] = Mark(seq: max(name.seq, self.marks[key]?.seq ?? 0), time: now)
            self.changed.insert(key)
        }
    }

    /// Removes the watermarks of streams without a record since a time.
    mutating func remove(before time: UnixTime) { self.marks = self.marks.filter { $0.value.time >= time } }

    /// Returns the watermarks that changed since the last call.
    mutating func takeChanges() -> [Key: Mark] {
        defer { self.changed = [] }
        return self.changed.reduce(into: [:]) { $0[$1] = self.marks[$1] }
    }
}
