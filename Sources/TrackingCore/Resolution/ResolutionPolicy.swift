/// Decides at which resolution one trackable is tracked.
///
/// The answer must depend on the snapshot alone: the same conditions, the same answer. It is asked after every event, on the
/// path of every event; iterating over all requests makes each event cost as much as there are subscribers.
public protocol ResolutionPolicy: Sendable {
    /// The resolution for `conditions`.
    func resolution(for conditions: TrackingConditions) -> Resolution
}
