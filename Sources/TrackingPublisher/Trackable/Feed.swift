import TrackingCore

/// The source of one trackable's records.
enum Feed: Sendable {
    /// The device's own fixes.
    case device
    /// Records that reach this program over HTTP, for instance.
    case remote(RemoteSource)

    /// The remote source; `nil` where the device's own fixes are recorded.
    var remote: RemoteSource? { if case .remote(let source) = self { source } else { nil } }

    /// `true` where records come from a remote source.
    var isRemote: Bool { if case .remote = self { true } else { false } }

    /// Changes the remote source in place.
    ///
    /// - Returns: The result of `change`; `nil` where the device's own fixes are recorded.
    mutating func withRemote<Result>(_ change: (inout RemoteSource) -> Result) -> Result? {
        guard case .remote(var source) = self else { return nil }
        // Without a second reference, the queue changes in place.
        self = .device
        defer { self = .remote(source) }
        return change(&source)
    }
}

/// A source of ingested records: the batches under way, and the newest times that were published.
struct RemoteSource: Sendable {
    /// The times of the newest records that were published.
    var watermarks: PublishedWatermarks
    /// The batches that were not answered yet.
    var intake = IntakeQueue()
    /// The moment until which the trackable is tracked without further records.
    var leaseEnd: MonotonicTime

    /// The wait between two looks whether the log of a trackable without new records is empty.
    static let drainPause = Duration.seconds(60)
}
