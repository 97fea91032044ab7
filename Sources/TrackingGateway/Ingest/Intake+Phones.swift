package import TrackingCore
import TrackingPublisher

extension Intake {
    /// The longest time until the gateway answers a phone's request. Phone apps give up after 30 s or more.
    package static let patience = Duration.seconds(20)

    /// Makes the records of a phone's request durable, each 10,000 of them within ``patience``.
    ///
    /// - Throws: The errors of ``take(_:for:within:)``. Records that were accepted before the error get the same names
    ///   when the phone repeats the request.
    package func take(_ id: TrackableID, _ batch: PhoneBatch) async throws(TrackingError) {
        try await self.take(id, batch, within: Self.patience)
    }

    /// Makes the records of a request or message durable, each 10,000 of them within a time limit.
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
