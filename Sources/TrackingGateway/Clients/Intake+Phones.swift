package import TrackingCore
import TrackingPublisher

extension Intake {
    /// How long a phone is let wait: apps give up after 30 s or more.
    package static let patience = Duration.seconds(20)

    /// Makes a request's records safe, each 10,000 of them within `patience`.
    ///
    /// - Throws: what ``take(_:for:within:)`` does; what was taken keeps its names when it comes again.
    package func take(_ id: TrackableID, _ batch: PhoneBatch) async throws(TrackingError) {
        try await self.take(id, batch, within: Self.patience)
    }

    /// The same, for others than phones.
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
