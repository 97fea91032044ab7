import TrackingCore

/// The watermark of each stream and kind of message: the highest sequence number that was queued for webhooks. A record
/// of the history above its watermark was not queued.
struct RecordWatermarks: Sendable {
    /// The stream of a trackable and the kind of message that a watermark belongs to.
    struct Key: Hashable, Sendable {
        var trackable: TrackableID
        var kind: Outbox.Kind
        var stream: StreamID
    }

    /// A watermark: the highest queued sequence number, and the time at which its record was queued.
    struct Mark: Hashable, Sendable {
        var seq: UInt64
        var time: UnixTime
    }

    private(set) var marks: [Key: Mark]
    private var changed: Set<Key> = []

    /// Creates the watermarks from those that an earlier run of the gateway saved.
    init(_ saved: [Key: Mark] = [:]) { self.marks = saved }

    /// Raises the watermarks to the given records of a trackable, which were queued for webhooks now.
    mutating func advance(_ kind: Outbox.Kind, to names: [RecordName], of id: TrackableID, now: UnixTime) {
        for name in names {
            let key = Key(trackable: id, kind: kind, stream: name.stream)
            self.marks[key] = Mark(seq: max(name.seq, self.marks[key]?.seq ?? 0), time: now)
            self.changed.insert(key)
        }
    }

    /// Removes the watermarks of streams of which no record was queued since the given time.
    mutating func remove(before time: UnixTime) { self.marks = self.marks.filter { $0.value.time >= time } }

    /// Returns the watermarks that changed since the last call.
    mutating func takeChanges() -> [Key: Mark] {
        defer { self.changed = [] }
        return self.changed.reduce(into: [:]) { $0[$1] = self.marks[$1] }
    }
}
