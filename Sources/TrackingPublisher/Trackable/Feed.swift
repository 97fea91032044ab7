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

    /// Returns `true` where an acknowledgement on the live lane makes a record safe. Recorders take their time with
    /// live updates, and the sender of an ingested record waits for them.
    func countsLive(_ recording: SpoolStateMachine.Configuration) -> Bool {
        !self.isRemote || !recording.needsRecorder
    }

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
