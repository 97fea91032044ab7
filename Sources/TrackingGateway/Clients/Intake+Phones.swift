package import TrackingCore
import TrackingPublisher

extension Intake {
    /// How long a phone is let wait: apps give up after 30 s or more.
    private static let patience = Duration.seconds(20)

    /// Makes a request's records safe.
    ///
    /// - Throws: what ``take(_:for:within:)`` does; what was taken keeps its names when it comes again.
    package func take(_ id: TrackableID, _ batch: PhoneBatch) async throws(TrackingError) {
        var rest = batch.records[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(PhoneBatch.maximumRecords))
            rest = rest.dropFirst(part.count)
            try await self.take(part, for: id, within: Self.patience)
        }
    }
}
