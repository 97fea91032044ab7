import TrackingCore

/// The stored state of a trackable that is not tracked: its records in the log, its named values, and the end of its
/// last trip until the broker acknowledges it.
struct DormantTrackable: Sendable {
    typealias Output = TrackableStateMachine.Output

    /// The trackable's records in the log: their streams and numbers.
    var log = SpoolContents.Trackable()
    /// The trackable's named values in the log, such as the state of its trip.
    var stored = StoredValues()
    /// The end of the last trip, until the broker has acknowledged it; otherwise `nil`.
    var departure: Departure?
    /// The generator of random ids for events and streams.
    var random: SplitMix64

    /// The number of this trackable's records in the log.
    var count: Int { self.log.streams.reduce(0) { $0 + $1.stored.count } }

    /// `true` while the log has records of this trackable, or an earlier stream of it of whose end the recorders may
    /// not have been informed.
    var isPending: Bool { self.log.streams.contains { !$0.stored.isEmpty || $0.id != self.log.current } }

    /// Restores one named value that an earlier run stored in the log.
    mutating func restore(_ value: [UInt8], of key: StoredValues.Key) {
        switch key {
        case .trip: self.stored.trip = value
        case .lowBattery: self.stored.lowBattery = value
        case .watermarks: self.stored.watermarks = value
        case .departure:
            self.departure = (try? MessageCodec.decodeTrip(value[...])).map { Departure(trip: $0, isWritten: true) }
        }
    }

    /// Handles the log's result of an operation on this trackable's records.
    ///
    /// - Returns: The answer to the caller, if a caller requested the operation.
    mutating func happened(_ event: PublisherStateMachine.LogEvent) -> [Output] {
        switch event {
        case .appended(let stream, let seqs):
            self.log.appended(seqs, to: stream)
            self.wrote(seqs)
        case .appendFailed(let stream, let seqs, _):
            self.wrote(seqs)
            self.log.change(stream) { $0.last = max($0.last, seqs.last ?? 0) }
        case .putBack(let stream, let seqs, let request):
            self.log.appended(seqs, to: stream)
            return [.action(.answered(request: request, .success(.records(seqs.count))))]
        case .putBackFailed(_, _, let error, let request):
            return [.action(.answered(request: request, .failure(error)))]
        case .dropped(let stream, let seqs):
            self.log.change(stream) { $0.stored.subtract(seqs) }
        case .setAside(let stream, let seq):
            self.log.change(stream) { $0.stored.remove(seq...seq) }
        case .reopened(let contents):
            self.log = contents
            self.departure?.isWritten = true
        case .loaded, .readFailed, .found, .findFailed, .setAsideFailed:
            break
        }
        return []
    }

    private mutating func wrote(_ seqs: SeqSet) {
        guard let departure = self.departure, seqs.contains(departure.event?.seq ?? departure.trip.seq) else { return }
        self.departure?.isWritten = true
    }

    /// Asks the log to put quarantined records back at the end of the trackable's current stream, under new numbers, so
    /// that they are sent again. Answers the caller at once if there is no record to put back.
    ///
    /// A quarantined record was set aside because it could never be accepted. A record that cannot be decoded stays
    /// quarantined.
    mutating func putBack(_ rows: [QuarantinedRecord], _ request: UInt64) -> [Output] {
        let rows = rows.filter { RecordDraft.Content($0.entry.record) != nil }
        guard !rows.isEmpty else { return [.action(.answered(request: request, .success(.records(0))))] }
        if self.log.current == nil { self.log.begin(.random(using: &self.random)) }
        guard let stream = self.log.current else { return [] }
        let records = rows.compactMap { PutBackRecord($0, in: stream) { self.log.nextSeq() ?? 1 } }
        return [.log(.putBack(stream, records, request: request))]
    }

    /// Removes every record of the trackable that is still to be sent from the log. Quarantined records remain.
    mutating func clearRecords() -> [Output] {
        let stored = self.log.streams.filter { !$0.stored.isEmpty }
        for stream in stored { self.log.change(stream.id) { $0.stored = SeqSet() } }
        return stored.map { .log(.remove($0.id, $0.stored)) }
    }

    /// Records the caller's answer to a command that stopped the tracking, as an event at the end of the trackable's
    /// stream.
    ///
    /// While the publisher is announced on a connection, the event is also published at once.
    mutating func recordAnswer(
        _ detail: [String: JSONValue], of id: TrackableID, isAnnounced: Bool, at time: UnixTime
    ) -> [Output] {
        guard let stream = self.log.current, let seq = self.log.nextSeq() else { return [] }
        let event = TrackingEvent(
            id: UUIDText.random(using: &self.random), stream: stream, seq: seq, time: time, kind: .command,
            detail: detail)
        let record = RecordDraft.Content.event(event).record(at: time, seq: seq)
        let append = Output.log(.append(stream, record))
        return isAnnounced ? [.publish(.event(id), MessageCodec.encode(event), .other), append] : [append]
    }

    // MARK: - Departure

    /// Publishes the end of the last trip: the trip itself and the event of its end. This happens once on each
    /// connection, and only after the end of the trip was written to the log.
    mutating func publishDeparture(of id: TrackableID, _ configuration: PublisherConfiguration) -> [Output] {
        guard let departure = self.departure, departure.isWritten, !departure.isPublished else { return [] }
        self.departure?.isPublished = true
        var outputs: [Output] = []
        if configuration.sendsLive {
            let trip = configuration.shown(departure.trip)
            outputs.append(.publish(.trip(id), MessageCodec.encode(trip), .departure))
        }
        if var event = departure.event {
            event.location = event.location.flatMap(configuration.shown)
            outputs.append(.publish(.event(id), MessageCodec.encode(event), .departure))
        }
        return outputs.isEmpty ? self.endDeparture(of: id) : outputs
    }

    /// Forgets the end of the last trip and deletes it from the log.
    ///
    /// Call this function when the broker has acknowledged the end of the trip, or when another publisher tracks the
    /// trackable.
    mutating func endDeparture(of id: TrackableID) -> [Output] {
        guard self.departure != nil else { return [] }
        self.departure = nil
        return [StoredValues.Key.departure.keep(nil, of: id)]
    }
}
