package import TrackingCore
import TrackingPublisher

extension Intake {
    /// The longest time until a phone's request is answered. Apps give up after 30 s or more.
    package static let patience = Duration.seconds(20)

    /// Makes the records of a request safe, each 10,000 of them within `patience`.
    ///
    /// - Throws: The errors of ``take(_:for:within:)``. Records that were accepted before the error have the same
    ///   names when the request is repeated.
    package func take(_ id: TrackableID, _ batch: PhoneBatch) async throws(TrackingError) {
        try await self.take(id, batch, within: Self.patience)
    }

    /// Makes the records of a request safe within a time limit, for clients other than phones.
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
