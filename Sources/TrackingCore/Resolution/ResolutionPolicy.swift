/// A rule that decides the resolution of one trackable.
///
/// The result must depend on the conditions alone: equal conditions give equal results. The policy is called after
/// every event, so its cost matters: a loop over all requests makes each event as expensive as the number of
/// subscribers.
public protocol ResolutionPolicy: Sendable {
    /// Returns the resolution for `conditions`.
    func resolution(for conditions: TrackingConditions) -> Resolution
}
