import Logging
import TrackingCore

/// Operations that move records of the log: to the quarantine, back from it, or to new numbers.
///
/// A record's name consists of its stream, which is one life of the log, and its number.
extension LogWorker {
    func quarantine(
        _ name: RecordName, of id: TrackableID, _ reason: TrackingError, _ post: Post
    ) async -> TrackingError? {
        do throws(TrackingError) {
            try await self.storage.quarantine(name.seq, of: name.stream, reason: reason.message)
            self.logger.warning(
                "Record quarantined on the device: the broker never accepts this record, and the device does not send it again by itself. Show such records with godwit-agent quarantine list",
                metadata: ["trackable": "\(id)", "record": "\(name)", "reason": "\(reason)"])
            post(id, .setAside(name.stream, name.seq))
            return nil
        } catch {
            post(id, .setAsideFailed(name.stream, name.seq))
            return error
        }
    }

    /// Copies records of the log to new names, and then removes them under the old names.
    ///
    /// A record's name consists of its stream and its number. A record that cannot be decoded stays under its old name.
    func renumber(
        _ seqs: SeqSet, of stream: StreamID, from first: RecordName, _ id: TrackableID, _ post: Post
    ) async -> TrackingError? {
        var (left, next) = (seqs, first)
        let numbers = first.seq...(first.seq + UInt64(seqs.count) - 1)
        let error = await self.attempt { () async throws(TrackingError) in
            while !left.isEmpty {
                let reading = try await self.storage.read(
                    stream, left, maximumCount: Self.renumberedAtOnce, maximumBytes: 1 << 20)
                var (entries, old) = ([SpoolEntry](), SeqSet())
                for record in reading.records {
                    guard let renamed = record.renamed(next) else { continue }
                    entries.append(SpoolEntry(renamed, of: id, in: next.stream))
                    old.insert(record.seq)
                    next.seq += 1
                }
                try await self.storage.append(entries, state: [:], now: self.clock())
                for (place, seqs) in Self.places(entries[...]) { post(id, .appended(place.stream, seqs)) }
                try await self.storage.remove(old, of: stream)
                left.subtract(reading.missing)
                left.subtract(reading.records.seqs)
            }
        }
        if next.seq <= numbers.upperBound {
            let reason =
                error
                ?? TrackingError(
                    .spoolFailed,
                    "cannot give records of the log new numbers: the records could not be read. They count as lost")
            post(id, .appendFailed(next.stream, SeqSet([next.seq...numbers.upperBound]), reason))
        }
        return error
    }

    func putBack(
        _ records: [PutBackRecord], in stream: StreamID, of id: TrackableID, _ request: UInt64, _ post: Post
    ) async -> TrackingError? {
        let seqs = SeqSet(records.map { $0.record.seq...$0.record.seq })
        do throws(TrackingError) {
            try await self.storage.putBack(records, of: id, in: stream)
            post(id, .putBack(stream, seqs, request: request))
            return nil
        } catch {
            post(id, .putBackFailed(stream, seqs, error, request: request))
            return error
        }
    }
}
