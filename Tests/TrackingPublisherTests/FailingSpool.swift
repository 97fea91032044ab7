import Synchronization
import TrackingCore

/// A log in memory in which chosen calls fail.
final class FailingSpool: SpoolStorage {
    enum Call: Hashable {
        case open, append, read, trim
    }

    let inner = InMemorySpool()
    private let failures = Mutex<[Call: [TrackingError]]>([:])
    private let log = Mutex<[Call]>([])
    /// Opening the log takes until this stream ends.
    private let opening: AsyncStream<Never>?
    /// Appending to the log takes until this stream ends.
    private let appending: AsyncStream<Never>?

    init(opening: AsyncStream<Never>? = nil, appending: AsyncStream<Never>? = nil) {
        self.opening = opening
        self.appending = appending
    }

    var executor: (any TaskExecutor)? { nil }
    /// The recorded calls, in order.
    var calls: [Call] { self.log.withLock { $0 } }

    /// The errors for the next calls of this kind, one for each call.
    func fail(_ call: Call, with errors: TrackingError...) {
        self.failures.withLock { $0[call, default: []] += errors }
    }

    private func meet(_ call: Call) throws(TrackingError) {
        self.log.withLock { $0.append(call) }
        let error = self.failures.withLock { failures in
            failures[call]?.isEmpty == false ? failures[call]?.removeFirst() : nil
        }
        if let error { throw error }
    }

    func open(now: UnixTime) async throws(TrackingError) -> SpoolContents {
        try self.meet(.open)
        if let opening = self.opening { for await _ in opening {} }
        return try await self.inner.open(now: now)
    }

    func append(
        _ records: [SpoolEntry], state: [String: [UInt8]?], now: UnixTime, knowsAges: Bool
    ) async throws(TrackingError) {
        try self.meet(.append)
        if let appending = self.appending { for await _ in appending {} }
        try await self.inner.append(records, state: state, now: now, knowsAges: knowsAges)
    }

    func known(
        _ marks: [RecordMark], of trackable: TrackableID
    ) async throws(TrackingError) -> [RecordMark: RecordName] {
        try await self.inner.known(marks, of: trackable)
    }

    func read(
        _ stream: StreamID, _ seqs: SeqSet, maximumCount: Int, maximumBytes: Int
    ) async throws(TrackingError) -> SpoolReading {
        try self.meet(.read)
        return try await self.inner.read(stream, seqs, maximumCount: maximumCount, maximumBytes: maximumBytes)
    }

    func remove(_ seqs: SeqSet, of stream: StreamID) async throws(TrackingError) {
        try await self.inner.remove(seqs, of: stream)
    }

    func waiting(
        after place: Int64, through last: Int64, maximumCount: Int
    ) async throws(TrackingError) -> [WaitingRecord] {
        try await self.inner.waiting(after: place, through: last, maximumCount: maximumCount)
    }

    func quarantine(_ seq: UInt64, of stream: StreamID, reason: String) async throws(TrackingError) {
        try await self.inner.quarantine(seq, of: stream, reason: reason)
    }

    func quarantined(after place: Int64, maximumCount: Int) async throws(TrackingError) -> [QuarantinedRecord] {
        try await self.inner.quarantined(after: place, maximumCount: maximumCount)
    }

    func putBack(
        _ records: [PutBackRecord], of trackable: TrackableID, in stream: StreamID
    ) async throws(TrackingError) {
        try await self.inner.putBack(records, of: trackable, in: stream)
    }

    func dropQuarantined(_ places: [Int64]?) async throws(TrackingError) -> Int {
        try await self.inner.dropQuarantined(places)
    }

    func forget(_ stream: StreamID) async throws(TrackingError) { try await self.inner.forget(stream) }

    func trim(to limits: SpoolLimits, now: UnixTime) async throws(TrackingError) -> [SpoolPart] {
        try self.meet(.trim)
        return try await self.inner.trim(to: limits, now: now)
    }

    func summary() async throws(TrackingError) -> SpoolSummary { try await self.inner.summary() }

    func close() async throws(TrackingError) { try await self.inner.close() }
}
