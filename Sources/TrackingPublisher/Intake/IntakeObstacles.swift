import TrackingCore

/// The conditions that can delay ingested records, such as a missing connection. They determine the error for a sender
/// whose waiting time is over.
struct IntakeObstacles: Sendable {
    /// `true` while the publisher is connected to the broker and has announced itself as online.
    let isAnnounced: Bool
    /// The reason for which the broker rejects messages about the trackable; `nil` when it rejects none.
    let refusal: TrackingError?
    /// The state machine that sends the trackable's records to recorders. It knows which acknowledgements are missing.
    let spool: SpoolStateMachine
    /// `true` if the configuration expects that a recorder runs, but does not name the recorder.
    let isRecorderExpected: Bool

    /// Returns the error for a sender of ingested records whose waiting time is over. The error names the reason for
    /// which its records are not safe yet.
    ///
    /// - Parameter wait: The condition that was not met in time.
    func error(of wait: IntakeQueue.Wait) -> TrackingError {
        guard case .safe(let left) = wait else {
            return TrackingError(
                .spoolFailed, "cannot write the records to the log within the time limit. Send them again.")
        }
        let count = left.values.reduce(0) { $0 + $1.count }
        guard self.isAnnounced else {
            return TrackingError(
                .brokerUnreachable,
                """
                cannot publish \(count) records: not connected to the broker. \
                The publisher publishes them once it is connected.
                """)
        }
        if let error = self.refusal {
            return TrackingError(
                error.code, "cannot publish \(count) records: \(error.message). The publisher tries again.",
                reasonCode: error.reasonCode)
        }
        let missing = self.spool.recordersWithout(left).sorted().map { "'\($0)'" }
        guard missing.isEmpty else {
            return TrackingError(
                .notAcknowledged,
                """
                \(count) records are not safe yet: the recorder \(missing.joined(separator: ", ")) has not \
                acknowledged all of them. Start that recorder.
                """)
        }
        guard self.isRecorderExpected, self.spool.unsent == 0 else {
            return TrackingError(
                .refused, "the broker has not acknowledged \(count) records. The publisher tries again.")
        }
        return TrackingError(
            .notAcknowledged,
            "no recorder has acknowledged \(count) records. Check that the recorder runs and its history is usable.")
    }
}
