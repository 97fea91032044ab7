import TrackingCore

/// What was set aside and is put back in line: it is recorded anew, with its own time, at the end of the stream that is written.
/// Its old number was declared gone, and stays so.
extension PublisherStateMachine {
    /// What cannot be read stays set aside.
    mutating func putBack(_ rows: [QuarantinedRecord], of id: TrackableID, _ number: UInt64) -> [Action] {
        let readable = rows.compactMap { row in
            RecordDraft.Content(row.entry.record).map { (place: row.place, time: row.entry.record.time, content: $0) }
        }
        guard !readable.isEmpty else { return [.answered(request: number, .success(.records(0)))] }
        let stream = self.writtenStream(of: id)
        let records = readable.map { row in
            let name = RecordName(stream: stream, seq: self.nextSeq(of: id))
            return PutBackRecord(place: row.place, record: row.content.named(name).record(at: row.time, seq: name.seq))
        }
        return [.log(id, .putBack(stream, records, request: number))]
    }

    /// They are in the log, and go at once; none of them is news for the live lane.
    mutating func putBack(
        _ seqs: SeqSet, in stream: StreamID, of id: TrackableID, at moment: Moment
    ) -> [Action] {
        self.appended(seqs, of: stream, to: id, at: moment)
            + self.askSpool(of: id, at: moment) { $0.hurried(through: seqs.last ?? 0, of: stream, now: moment.now) }
    }

    /// The stream of a trackable that is written, carried or not.
    private mutating func writtenStream(of id: TrackableID) -> StreamID {
        if let stream = self.assets[id]?.stream ?? self.logs[id]?.current { return stream }
        let stream = StreamID.random(using: &self.random)
        self.logs[id, default: .init()].begin(stream)
        return stream
    }

    /// The next number of that stream.
    private mutating func nextSeq(of id: TrackableID) -> UInt64 {
        self.assets[id]?.nextSeq() ?? self.logs[id]?.nextSeq() ?? 1
    }
}
