import TrackingCore

/// The origin of a trackable's records: the device itself, or another system such as a phone that sends them over HTTP.
enum Feed: Sendable {
    /// The trackable's records are the device's own fixes, trips and events.
    case device
    /// Another system supplies the trackable's records, for example over HTTP.
    case remote(RemoteSource)

    /// The state of the other system that supplies the trackable's records; `nil` if the records are the device's own.
    var remote: RemoteSource? { if case .remote(let source) = self { source } else { nil } }

    /// `true` if another system supplies the trackable's records.
    var isRemote: Bool { if case .remote = self { true } else { false } }

    /// Returns `true` if the broker's acknowledgement of a live position can make the position's record safe.
    ///
    /// The result is `false` if another system supplies the records and recorders must acknowledge them. The sender of
    /// such records waits for the recorders.
    func countsLive(_ recording: SpoolStateMachine.Configuration) -> Bool {
        !self.isRemote || !recording.needsRecorder
    }

    /// Applies `change` to the remote source: the stored state of the other system that supplies the records.
    ///
    /// - Returns: The result of `change`; `nil` if the records are the device's own fixes.
    mutating func withRemote<Result>(_ change: (inout RemoteSource) -> Result) -> Result? {
        guard case .remote(var source) = self else { return nil }
        // Without a second reference, the queue changes in place.
        self = .device
        defer { self = .remote(source) }
        return change(&source)
    }
}
