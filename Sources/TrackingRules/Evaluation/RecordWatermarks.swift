import TrackingCore

/// The watermarks of the webhooks' queue: for each stream of records and kind of message, the highest record number
/// that was queued for webhooks. A record with a higher number was not queued.
struct RecordWatermarks: Sendable {
    /// The key of a watermark, the highest record number that was queued for webhooks: a trackable, one of its streams
    /// of records, and the kind of message.
    struct Key: Hashable, Sendable {
        var trackable: TrackableID
        var kind: Outbox.Kind
        var stream: StreamID
    }

    /// A watermark: the highest record number that was queued for webhooks, and the time at which it was queued.
    struct Mark: Hashable, Sendable {
        var seq: UInt64
        var time: UnixTime
    }

    private(set) var marks: [Key: Mark]
    private var changed: Set<Key> = []

    /// Starts with the watermarks that an earlier run of the gateway saved, the highest record numbers that were queued
    /// for webhooks.
    init(_ saved: [Key: Mark] = [:]) { self.marks = saved }

    /// Raises the watermarks of a trackable's streams to the given records, which were just queued for webhooks.
    mutating func advance(_ kind: Outbox.Kind, to names: [RecordName], of id: TrackableID, now: UnixTime) {
        for name in names {
            let key = Key(trackable: id, kind: kind, stream: name.stream)
            self.marks[key] = Mark(seq: max(name.seq, self.marks[key]?.seq ?? 0), time: now)
            self.changed.insert(key)
        }
    }

    /// Removes the watermarks, the highest queued record numbers, of those streams of which no record was queued since
    /// the given time.
    mutating func remove(before time: UnixTime) { self.marks = self.marks.filter { $0.value.time >= time } }

    /// Returns the watermarks that changed since the last call. A watermark is the highest record number that was queued
    /// for webhooks, of one stream and one kind of message.
    mutating func takeChanges() -> [Key: Mark] {
        defer { self.changed = [] }
        return self.changed.reduce(into: [:]) { $0[$1] = self.marks[$1] }
    }
}
