import TrackingCore

/// The conditions for which ingested records may have to wait, and the errors that name them to a sender.
struct IntakeObstacles: Sendable {
    /// `true` while the publisher is announced on a connection.
    let isAnnounced: Bool
    /// The reason that the broker rejects something of the trackable; `nil` when it rejects nothing.
    let refusal: TrackingError?
    /// The recording lane of the trackable.
    let spool: SpoolStateMachine
    /// `true` where a recorder without a name is expected to run.
    let isRecorderExpected: Bool

    /// Returns the error for a sender that gives up.
    func error(of wait: IntakeQueue.Wait) -> TrackingError {
        guard case .safe(let left) = wait else {
            return TrackingError(
                .spoolFailed, "cannot write the records to the log within the time limit. Send them again.")
        }
        let count = left.values.reduce(0) { $0 + $1.count }
        guard self.isAnnounced else {
            return TrackingError(
                .brokerUnreachable,
                "cannot publish \(count) records: not connected to the broker. They are published once it is reachable."
            )
        }
        if let error = self.refusal {
            return TrackingError(
                error.code, "cannot publish \(count) records: \(error.message). They are tried again.",
                reasonCode: error.reasonCode)
        }
        let missing = self.spool.recordersWithout(left).sorted().map { "'\($0)'" }
        guard missing.isEmpty else {
            return TrackingError(
                .notAcknowledged,
                "\(count) records are not acknowledged by \(missing.joined(separator: ", ")). Start that recorder.")
        }
        guard self.isRecorderExpected, self.spool.unsent == 0 else {
            return TrackingError(
                .refused, "the broker has not acknowledged \(count) records. They are tried again.")
        }
        return TrackingError(
            .notAcknowledged, "\(count) records are not acknowledged by a recorder. Check that the history is usable.")
    }
}
