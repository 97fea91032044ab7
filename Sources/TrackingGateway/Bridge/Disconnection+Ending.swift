import TrackingCore

extension Disconnection {
    /// Returns the error with which a part of the bridge ends after this loss of its connection, or after this failed
    /// attempt to connect; `nil` if it waits for the next connection.
    ///
    /// A part of the bridge has no liveness that would show another program with its client id. It therefore ends when
    /// the broker itself states that another program took the client id over. Short connections are only a suspicion,
    /// after which it connects again.
    ///
    /// - Parameter failsFast: `true` to end as soon as the broker cannot be reached at any of its addresses.
    func endingError(failsFast: Bool) -> TrackingError? {
        let isTakenOver = self.reason?.code == .takenOver && self.reason?.reasonCode == Self.sessionTakenOver
        return self.retry == nil || isTakenOver || failsFast && self.failure != nil ? self.reason : nil
    }

    /// The reason code of MQTT 5 with which a broker ends a connection whose client id another connection uses.
    private static let sessionTakenOver: UInt8 = 0x8E
}
