import TrackingCore

extension Disconnection {
    /// Returns the error with which a part of the bridge ends after this loss of its connection, or after this failed
    /// attempt to connect; `nil` if it waits for the next connection.
    ///
    /// - Parameter failsFast: `true` to end as soon as the broker cannot be reached at any of its addresses.
    func endingError(failsFast: Bool) -> TrackingError? {
        self.retry == nil || failsFast && self.failure != nil ? self.reason : nil
    }
}
