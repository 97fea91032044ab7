package import TrackingCore
import TrackingPublisher

extension Intake {
    /// The longest time that the gateway waits until 10,000 records of a phone's request are durable. The time applies
    /// to each further part of 10,000 records again. Phone apps give up after 30 s or more.
    package static let patience = Duration.seconds(20)

    /// Makes the records of a phone's request durable, in parts of 10,000 records. Each part may take ``patience``.
    ///
    /// - Throws: The errors of ``take(_:for:within:)``. The phone can then repeat the request: records that were
    ///   already accepted are stored only once.
    package func take(_ id: TrackableID, _ batch: PhoneBatch) async throws(TrackingError) {
        try await self.take(id, batch, within: Self.patience)
    }

    /// Makes the records of a request or message durable, in parts of 10,000 records. Each part may take the time
    /// `patience`.
    package func take(
        _ id: TrackableID, _ batch: PhoneBatch, within patience: Duration
    ) async throws(TrackingError) {
        var rest = batch.records[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(PhoneBatch.maximumRecords))
            rest = rest.dropFirst(part.count)
            try await self.take(part, for: id, within: patience)
        }
    }
}
